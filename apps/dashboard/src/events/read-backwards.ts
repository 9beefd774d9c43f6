interface Sequenced {
  readonly seq: number;
}

/** A page of the feed: what matches with a greater seq than `since`, ascending; `next` is where to go on. */
export interface FeedPage<E extends Sequenced> {
  readonly events: readonly E[];
  readonly next: number | null;
}

export type ReadFeed<E extends Sequenced> = (since: number, limit: number) => Promise<FeedPage<E>>;

const MAX_PAGE = 1_000;
const FIRST_SPAN = 200;
/** How far to look in one go for events that a filter makes rare. */
const MAX_LOOKED_AT = 50_000;

/** What was found, ascending, and the seq below which to look on; `null` when there is nothing below. */
export interface BackwardPage<E extends Sequenced> {
  readonly events: readonly E[];
  readonly before: number | null;
}

/**
 * Reads the feed, which goes forwards, from its end: the last events before a seq. It looks at ever longer stretches
 * until it has found enough, so that what is rare is found too, and what is not costs one page.
 * @param before events with a smaller seq
 * @param oldest the first seq that is still kept
 */
export async function readBackwards<E extends Sequenced>(
  read: ReadFeed<E>,
  { before, oldest, wanted }: { readonly before: number; readonly oldest: number; readonly wanted: number },
): Promise<BackwardPage<E>> {
  const floor = Math.max(1, oldest);
  let found: readonly E[] = [];
  let upper = before;
  for (let span = FIRST_SPAN; found.length < wanted && upper > floor && before - upper < MAX_LOOKED_AT; span *= 2) {
    const lower = Math.max(floor, upper - span);
    found = [...(await stretch(read, lower, upper)), ...found];
    upper = lower;
  }
  const kept = found.slice(-wanted);
  const next = kept.length < found.length ? (kept[0]?.seq ?? upper) : upper;
  return { events: kept, before: next > floor ? next : null };
}

/** What matches from `lower` up to, and without, `upper`. */
async function stretch<E extends Sequenced>(read: ReadFeed<E>, lower: number, upper: number): Promise<readonly E[]> {
  const found: E[] = [];
  for (let since: number | null = lower - 1; since !== null && since < upper - 1;) {
    const page: FeedPage<E> = await read(since, Math.min(MAX_PAGE, upper - 1 - since));
    found.push(...page.events.filter(({ seq }) => seq < upper));
    since = page.next;
  }
  return found;
}
