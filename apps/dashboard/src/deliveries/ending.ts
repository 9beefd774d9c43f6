import type { Delivery } from '../api/resources.js';
import { errorCode, errorText } from './error-text.js';

/** Why a delivery ended, and what to do next. */
export interface Ending {
  readonly title: string;
  readonly next: string;
}

const NEXT: Readonly<Record<string, string>> = {
  http_status: 'Look at the response below, fix the receiver, then replay.',
  timeout: 'Answer within 10 seconds and do the work afterwards, then replay.',
  dns: 'Check the host name in the URL of the endpoint, then replay.',
  connect: 'Check that the receiver runs and accepts connections, then replay.',
  tls: 'Check the certificate of the receiver, then replay.',
  token: 'Check the token URL, the client and its secret in the settings of the endpoint, then replay.',
  not_acknowledged: 'Answer with the seq of the last event that you accept, then replay.',
  blocked_address: 'The host has to resolve to a public address. Change the URL, then replay.',
};

const ENABLE_FIRST = 'Enable the endpoint, then replay or recover.';

type Ended = Pick<Delivery, 'status' | 'attempts' | 'last_error' | 'response_status'>;

/**
 * Returns why a failed delivery ended; `undefined` for one that did not fail.
 * @param isActive whether the endpoint is active; `undefined` if that could not be read
 */
export function endingOf(delivery: Ended, isActive: boolean | undefined): Ending | undefined {
  const { status, attempts, last_error: error } = delivery;
  if (status !== 'failed') return undefined;
  const code = errorCode(error ?? '');
  if (code === 'endpoint_disabled' || code === 'endpoint_deleted') {
    const before = attempts === 0 ? 'before its first attempt' : `after ${countText(attempts)}`;
    return {
      title: `Ended ${before}, because the endpoint was ${code === 'endpoint_disabled' ? 'disabled' : 'deleted'}`,
      next:
        isActive === undefined
          ? 'Replay or recover it once the endpoint is enabled.'
          : isActive
            ? 'The endpoint is enabled again: replay it.'
            : ENABLE_FIRST,
    };
  }
  if (code === 'skipped') {
    const before = attempts === 0 ? 'before its first attempt' : `after ${countText(attempts)}`;
    return { title: `Skipped ${before}`, next: 'It is not tried again, unless you replay it.' };
  }
  const why = error === null ? 'no reason is known' : errorText(error);
  return {
    title: `Gave up after ${countText(attempts)}: ${why.charAt(0).toLowerCase()}${why.slice(1)}`,
    next: isActive === false ? ENABLE_FIRST : (NEXT[code] ?? 'Replay it.'),
  };
}

/** Returns the result of a delivery in a few words, for lists. */
export function resultText(delivery: Ended): string {
  const { status, attempts, last_error: error, response_status: response } = delivery;
  if (status === 'failed' && errorCode(error ?? '') === 'endpoint_disabled') {
    return response === null ? 'Endpoint disabled' : `Endpoint disabled, after HTTP ${response}`;
  }
  if (response !== null) return `HTTP ${response}`;
  if (error !== null) return errorText(error);
  return attempts === 0 ? 'Not sent yet' : '–';
}

function countText(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}
