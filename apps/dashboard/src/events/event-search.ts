/** The filter of events in the address of the page. */
export interface EventSearch {
  readonly event?: string;
  readonly widget?: string;
  /** The open event. */
  readonly seq?: number;
  /** The seq at which the list begins, going back. Without it, the list begins at the head and is live. */
  readonly from?: number;
}

/** Reads the parameters of an address, and ignores invalid ones. */
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
