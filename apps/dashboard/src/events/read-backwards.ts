interface Sequenced {
  readonly seq: number;
}

/** A page of the feed: matching events with a greater seq than `since`, ascending; `next` is where to continue. */
export interface FeedPage<E extends Sequenced> {
  readonly events: readonly E[];
  readonly next: number | null;
  /** The newest seq of the feed. */
  readonly head: number;
}

export type ReadFeed<E extends Sequenced> = (since: number, limit: number) => Promise<FeedPage<E>>;

const MAX_PAGE = 1_000;
/** The span of the first search for events that match a filter. */
const FIRST_SPAN = 200;
/** The most seqs that one call searches for rare events. */
const MAX_LOOKED_AT = 50_000;

/** Events in ascending order, and the seq below which to continue; `null` if there is nothing below. */
export interface BackwardPage<E extends Sequenced> {
  readonly events: readonly E[];
  readonly before: number | null;
}

interface BackwardRead {
  readonly before: number;
  readonly oldest: number;
  readonly wanted: number;
  readonly isFiltered: boolean;
}

/**
 * Reads the last events before a seq, although the feed reads forwards. It searches ever longer stretches until it has
 * enough events. So rare events are found, and common ones cost one page.
 * @param before only events with a smaller seq
 * @param oldest the first seq that is still kept
 * @param isFiltered whether some seqs may have no matching event; otherwise, no more is read than is wanted
 */
export async function readBackwards<E extends Sequenced>(
  read: ReadFeed<E>,
  { before, oldest, wanted, isFiltered }: BackwardRead,
): Promise<BackwardPage<E>> {
  const floor = Math.max(1, oldest);
  let found: readonly E[] = [];
  let upper = before;
  let span = isFiltered ? FIRST_SPAN : wanted;
  for (; found.length < wanted && upper > floor && before - upper < MAX_LOOKED_AT; span *= 2) {
    const lower = Math.max(floor, upper - span);
    found = [...(await stretch(read, lower, upper)), ...found];
    upper = lower;
  }
  const kept = found.slice(-wanted);
  const next = kept.length < found.length ? (kept[0]?.seq ?? upper) : upper;
  return { events: kept, before: next > floor ? next : null };
}

/** Returns the matching events from `lower` up to `upper`, without `upper`. */
async function stretch<E extends Sequenced>(read: ReadFeed<E>, lower: number, upper: number): Promise<readonly E[]> {
  const found: E[] = [];
  for (let since: number | null = lower - 1; since !== null && since < upper - 1;) {
    const page: FeedPage<E> = await read(since, Math.min(MAX_PAGE, upper - 1 - since));
    found.push(...page.events.filter(({ seq }) => seq < upper));
    since = page.next;
  }
  return found;
}
