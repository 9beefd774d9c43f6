import type { FeedPage } from '#libs/feed-store';

/** The page as JSON (spec 4.1): the stored envelopes are spliced in as they are, never parsed and printed again. */
export function feedPageJson(page: FeedPage): string {
  return `{"data":[${page.envelopes.join(',')}],"next_seq":${page.nextSeq ?? 'null'}}`;
}

/** The bounds of the feed (decisions, section 5). */
export function feedPageHeaders(page: FeedPage): Readonly<Record<string, string>> {
  return { 'x-oldest-sequence': String(page.oldestSeq), 'x-head-sequence': String(page.headSeq) };
}
