/** The windows of the overview, minutes. */
export const WINDOWS = [15, 60, 360, 1_440] as const;

export type Window = (typeof WINDOWS)[number];

/** The window in the address of the page. Without it, the page chooses one that suits the data. */
export interface OverviewSearch {
  readonly minutes?: Window;
}

/** Reads the parameters of an address, and ignores invalid ones. */
export function parseOverviewSearch(search: Record<string, unknown>): OverviewSearch {
  const minutes = WINDOWS.find((window) => window === Number(search['minutes']));
  return minutes === undefined ? {} : { minutes };
}
