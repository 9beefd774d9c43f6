/** Which events the address of the page asks for. */
export interface EventSearch {
  readonly event?: string;
  readonly widget?: string;
  /** The event that is opened. */
  readonly seq?: number;
  /** Where the list begins, going back; without it, it begins at the head and is live. */
  readonly from?: number;
}

/** Takes of an address what it can be read as, and leaves the rest. */
export function parseEventSearch(search: Record<string, unknown>): EventSearch {
  const text = (name: string) => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? { [name]: value } : {};
  };
  const seq = (name: string) => {
    const value = Number(search[name]);
    return Number.isSafeInteger(value) && value > 0 ? { [name]: value } : {};
  };
  return { ...text('event'), ...text('widget'), ...seq('seq'), ...seq('from') };
}
