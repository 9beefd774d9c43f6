import type { AxiosInstance } from 'axios';
import { FeedClient } from '../../../consumer/src/index.js';
import type { CliContext } from '../context.js';
import { reportsRetries } from '../explain.js';
import type { Credentials } from '../settings/credentials.js';

/** Enough for a restart of Gapless, and soon over if the URL is wrong. */
export const START_RETRIES = 2;

export interface OpenFeed {
  readonly feed: FeedClient;
  /** The seqs of the oldest and the newest event; 0 if there is none. */
  readonly oldestSeq: number;
  readonly headSeq: number;
}

/** Returns what to report when a command has to wait for the feed: it ends before the position. */
export function aheadOfFeed(seq: number, headSeq: number): string {
  return `The feed ends at #${headSeq}. Waiting up to a minute until it reaches #${seq}.`;
}

/**
 * Returns the feed once it has answered, so that a command with a wrong URL or key ends. From then on it is tried again
 * for as long as it is away, and each failure is reported.
 * @throws ApiError
 */
export async function openFeed(
  context: Pick<CliContext, 'report'>,
  { url: baseUrl, apiKey }: Credentials,
  http: AxiosInstance,
  signal: AbortSignal,
): Promise<OpenFeed> {
  const feed = new FeedClient({ baseUrl, apiKey, http, onRetry: reportsRetries(context) });
  const { oldestSeq, headSeq } = await feed.page({ since: 0, limit: 1 }, { signal, retries: START_RETRIES });
  return { feed, oldestSeq, headSeq };
}
