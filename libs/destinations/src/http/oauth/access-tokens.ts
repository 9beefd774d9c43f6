import { setTimeout as delay } from 'node:timers/promises';
import type { EndpointId, OAuth2Client } from '#libs/domain';
import type { PushOutcome } from '../push/push-attempt.js';
import type { PostedNow, PushClient } from '../push/push-client.js';
import { readTokenAnswer, tokenErrorOf } from './token-answer.js';
import { tokenRequest } from './token-request.js';

export type FoundToken =
  | { readonly kind: 'token'; readonly token: string }
  /** The detail names neither the secret nor what the token endpoint sent. */
  | { readonly kind: 'failed'; readonly detail: string }
  /** The egress proxy was away. Look the endpoint up again: its credentials may be others by now. */
  | { readonly kind: 'waited' };

interface Token {
  readonly text: string;
  /** When it expires, milliseconds of the monotonic clock. */
  readonly validUntilMs: number;
}

interface Entry {
  /** The client that it was asked for, in JSON: another one gets another token. */
  readonly client: string;
  readonly found: Promise<FoundToken>;
  /** The answers in a row that had no token. */
  failures: number;
  /** Whether the egress proxy died during the last request that was sent. */
  wasCut: boolean;
  /** Until when `found` holds, milliseconds of the monotonic clock. */
  untilMs: number;
  /** The latest token that the endpoint has not refused. While another is asked for, it is the one before. */
  token: Token | undefined;
}

/** The endpoints whose tokens are kept: 60 MB, if everything is as long as it may be. */
const MAX_ENTRIES = 5_000;

/**
 * How long a token endpoint is left alone after a failure, milliseconds; twice as long after each further one. It is
 * less than the first retry of a delivery waits.
 */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 8_000;

const REQUEST_TIMEOUT = 408;
const TOO_MANY_REQUESTS = 429;

/**
 * The access tokens of endpoints, in memory. Endpoints share none, so that no organization uses the token of another.
 * Attempts of an endpoint share one request, and what became of it: until the pause is over, a failure as well. A token is
 * used on after a failure, as long as it is valid.
 */
export class AccessTokens {
  /** Ordered by last use. */
  readonly #entries = new Map<EndpointId, Entry>();

  constructor(
    private readonly client: Pick<PushClient, 'postNow'>,
    /** How long a request may take. */
    readonly timeoutMs: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /**
   * Never rejects.
   * @param signal ends a request at once; the same for all attempts of the process
   */
  find(endpointId: EndpointId, oauth2: OAuth2Client, signal: AbortSignal): Promise<FoundToken> {
    const client = JSON.stringify(oauth2);
    const known = this.#entries.get(endpointId);
    const isSame = known?.client === client;
    this.#entries.delete(endpointId);
    const entry = isSame && this.nowMs() < known.untilMs ? known : this.#ask(oauth2, client, signal);
    if (isSame && entry !== known) {
      entry.token = known.token;
      entry.failures = known.failures;
      entry.wasCut = known.wasCut;
    }
    this.#entries.set(endpointId, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
    return entry.found;
  }

  /** Call it when the endpoint refuses the token. A newer token stays. */
  drop(endpointId: EndpointId, token: string): void {
    const entry = this.#entries.get(endpointId);
    if (entry?.token?.text !== token) return;
    entry.token = undefined;
    // Another one may be on its way.
    if (entry.untilMs !== Infinity) entry.untilMs = -Infinity;
  }

  #ask(oauth2: OAuth2Client, client: string, signal: AbortSignal): Entry {
    const askedAtMs = this.nowMs();
    const found = this.#post(oauth2, signal).then((posted): FoundToken => {
      // A request is sent again once if the proxy died during it.
      if (posted.kind === 'waited' || (posted.kind === 'cut' && !entry.wasCut)) {
        entry.wasCut ||= posted.kind === 'cut';
        entry.untilMs = -Infinity;
        return { kind: 'waited' };
      }
      entry.wasCut = false;
      const { outcome } = posted;
      if (outcome.kind === 'failed') return this.#failed(entry, `failed: ${outcome.detail}`);
      const { status, body, responseExcerpt } = outcome;
      if (body === undefined) {
        const error = tokenErrorOf(responseExcerpt);
        return this.#failed(entry, `answered ${status}${error === undefined ? '' : ` ${error}`}`);
      }
      const answer = readTokenAnswer(body);
      if (answer.kind === 'unusable') return this.#failed(entry, answer.detail);
      entry.failures = 0;
      entry.token = { text: answer.token, validUntilMs: askedAtMs + answer.validMs };
      entry.untilMs = askedAtMs + answer.usableMs;
      return { kind: 'token', token: answer.token };
    });
    const entry: Entry = { client, found, failures: 0, wasCut: false, untilMs: Infinity, token: undefined };
    return entry;
  }

  /**
   * Asks a second time after a failure that may be that of one connection or moment: many attempts share the answer. Both
   * requests, and the pause after a 429, have the time of one.
   */
  async #post(oauth2: OAuth2Client, signal: AbortSignal): Promise<PostedNow> {
    const request = { ...tokenRequest(oauth2), signal };
    const askedAtMs = this.nowMs();
    const posted = await this.client.postNow({ ...request, timeoutMs: this.timeoutMs });
    const pauseMs = posted.kind === 'done' ? pauseBeforeSecond(posted.outcome) : null;
    if (pauseMs === null) return posted;
    const leftMs = Math.floor(this.timeoutMs - (this.nowMs() - askedAtMs) - pauseMs);
    if (leftMs <= 0) return posted;
    if (pauseMs > 0) await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    return signal.aborted ? posted : this.client.postNow({ ...request, timeoutMs: leftMs });
  }

  #failed(entry: Entry, what: string): FoundToken {
    const nowMs = this.nowMs();
    entry.untilMs = nowMs + Math.min(FIRST_PAUSE_MS * 2 ** entry.failures++, LONGEST_PAUSE_MS);
    const { token } = entry;
    if (token !== undefined && nowMs < token.validUntilMs) {
      entry.untilMs = Math.min(entry.untilMs, token.validUntilMs);
      return { kind: 'token', token: token.text };
    }
    entry.token = undefined;
    return { kind: 'failed', detail: `the token endpoint ${what}` };
  }
}

/** Returns how long to wait before a second request, milliseconds; `null` if the outcome would be the same. */
function pauseBeforeSecond(outcome: PushOutcome): number | null {
  if (outcome.kind === 'failed') return outcome.error === 'connect' || outcome.error === 'dns' ? 0 : null;
  if (outcome.status === TOO_MANY_REQUESTS) return outcome.retryAfterMs ?? FIRST_PAUSE_MS;
  return outcome.status === REQUEST_TIMEOUT || outcome.status >= 500 ? 0 : null;
}
