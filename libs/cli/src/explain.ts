import { ApiError } from '../../api-client/src/index.js';
import { FeedGapError, FeedResetError } from '../../consumer/src/index.js';
import type { CliContext } from './context.js';

/** Returns an `onRetry` that reports what is wrong. */
export function reportsRetries({ report }: Pick<CliContext, 'report'>): (error: ApiError) => void {
  return (error) => {
    report(`${explain(error)} Trying again.`);
  };
}

/** Returns what is wrong and what to do next. */
export function explain(error: unknown): string {
  if (error instanceof ApiError) return explainApi(error);
  if (error instanceof FeedResetError) return explainReset(error);
  if (error instanceof FeedGapError) return explainGap(error);
  return error instanceof Error ? error.message : String(error);
}

function explainReset({ since, headSeq }: FeedResetError): string {
  return (
    `The feed ends at #${headSeq}, so no event is after #${since}. ` +
    'Gapless is behind or being restored: then wait, and run the command again. ' +
    'If the feed began again, or the number is of another organization, choose a start with --from.'
  );
}

function explainGap({ since, nextSeq }: FeedGapError): string {
  return (
    `The feed lacks the events between #${since} and #${nextSeq}. Report this to the operator of Gapless. ` +
    `To go on without them, run the command again with --from ${nextSeq - 1}.`
  );
}

function explainApi({ status, code, detail, problems }: ApiError): string {
  // A proxy that asks for a login answers without a code.
  if (status === 401 && code !== 'unknown')
    return 'The API key is not valid: it is unknown, revoked or expired. Run `gapless login`, or set GAPLESS_API_KEY.';
  if (status === undefined) return `Gapless does not answer (${code}): ${detail}. Check the URL and your connection.`;
  if (status === 404 && code === 'unknown') return 'There is no Gapless at this URL (404). Check --url or GAPLESS_URL.';
  const lines = problems.map(({ pointer, detail: what }) => `\n  ${pointer}: ${what}`);
  return `${detail} (${status} ${code})${lines.join('')}`;
}
