import {
  acknowledgedOf,
  batchBody,
  batchLimit,
  webhookBody,
  type AttemptOutcome,
  type Clock,
  type DeliveryRef,
  type Destination,
  type DueAttempt,
  type Target,
} from '#libs/domain';
import { attemptTraceParent } from '../attempt-trace-parent.js';
import type { AccessTokens } from './oauth/access-tokens.js';
import type { PushRequest } from './push/push-attempt.js';
import type { PushClient } from './push/push-client.js';
import { callbackHeaders, pushHeaders, SIGNATURE_HEADERS } from './push/push-headers.js';
import { keepSignatures } from './push/kept-signatures.js';

const METHOD = { 'http.request.method': 'POST' };
const UNAUTHORIZED = 401;

/**
 * Pushes events as signed POSTs. Any 2xx in time accepts the delivery (contract 6.3). Of a batch, the whole answer
 * counts, since it may accept a part (contract 6.7).
 */
export class HttpDestination implements Destination {
  /** Bodies of batches that may be sent soon, by their first envelope. */
  readonly #prepared = new WeakMap<Buffer, PreparedBatch>();
  /** The deliveries with an attempt that was made again, because the egress proxy died or the process stood still. */
  readonly #madeAgain = new WeakSet<DeliveryRef>();

  constructor(
    private readonly client: PushClient,
    private readonly tokens: AccessTokens,
    private readonly clock: Clock,
    private readonly timeoutMs: number,
  ) {}

  whenThere(_target: Target, signal: AbortSignal): Promise<boolean> {
    return this.client.whenThere(signal);
  }

  async attempt(
    due: DueAttempt,
    target: Target,
    signal: AbortSignal,
    onSent?: () => void,
  ): Promise<AttemptOutcome | null> {
    const { oauth2 } = target;
    if (oauth2 === undefined) return this.#push(due, target, this.timeoutMs, signal, onSent);
    const startedAtMs = this.clock.now();
    const beganAt = performance.now();
    const { endpointId } = due.delivery;
    const found = await this.tokens.find(endpointId, oauth2, signal);
    if (found.kind === 'waited') return null;
    const durationMs = Math.round(performance.now() - beganAt);
    if (found.kind === 'failed') {
      const error = { kind: 'token', detail: found.detail } as const;
      return { startedAtMs, durationMs, response: null, error, attributes: METHOD };
    }
    // The process stood still meanwhile. The receiver would have too little of the time.
    if (durationMs > this.tokens.timeoutMs) return null;
    const headers = { ...target.headers, authorization: `Bearer ${found.token}` };
    const leftMs = this.timeoutMs - durationMs;
    const outcome = await this.#push(due, { ...target, headers }, leftMs, signal, onSent);
    // The next attempt gets a new one. A second POST would be an attempt that nobody sees.
    if (outcome?.response?.code === UNAUTHORIZED) this.tokens.drop(endpointId, found.token);
    return outcome;
  }

  async #push(
    due: DueAttempt,
    target: Target,
    timeoutMs: number,
    signal: AbortSignal,
    onSent?: () => void,
  ): Promise<AttemptOutcome | null> {
    const isBatch = target.mcp === undefined && batchLimit(target.settings) !== null;
    const { certificate } = target;
    const posted = await this.client.postNow({
      url: target.url,
      ...this.#messageOf(due, target),
      secretHeaders: { signatures: SIGNATURE_HEADERS, values: Object.keys(target.headers ?? {}) },
      identity: certificate && { ...certificate, endpointId: due.delivery.endpointId },
      needsBody: isBatch,
      timeoutMs,
      signal,
      onSent,
    });
    if (posted.kind === 'waited') return null;
    if (posted.kind === 'cut' && !this.#madeAgain.has(due.delivery)) {
      this.#madeAgain.add(due.delivery);
      return null;
    }
    const { outcome } = posted;
    const { startedAtMs, durationMs } = outcome;
    if (outcome.kind === 'failed') {
      const error = { kind: outcome.error, detail: outcome.detail };
      return { startedAtMs, durationMs, response: null, error, attributes: METHOD };
    }
    const { status, responseExcerpt: excerpt, body, retryAfterMs, untilEndMs } = outcome;
    const acknowledged = body === undefined ? undefined : acknowledgedOf(seqsOf(due), body);
    return {
      startedAtMs,
      durationMs,
      untilEndMs,
      response: { code: status, excerpt, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
      error: errorOf(status, acknowledged),
      ...(acknowledged === undefined ? {} : { acknowledged }),
      attributes: { ...METHOD, 'http.response.status_code': status },
    };
  }

  prepare(due: DueAttempt, target: Target, nowMs: number): void {
    if (target.mcp !== undefined || batchLimit(target.settings) === null) return;
    let body = this.#preparedBody(due);
    if (body === undefined) {
      body = bodyOfBatch(due);
      keepSignatures(body);
      this.#prepared.set(due.envelope, { body, ...endOf(due) });
    }
    // The attempt may begin in the next second.
    for (const atMs of [nowMs, nowMs + 1_000]) headersOf(due, body, target, atMs);
  }

  close(): Promise<void> {
    return this.client.close();
  }

  #messageOf(due: DueAttempt, target: Target): Pick<PushRequest, 'headers' | 'body'> {
    const { secret, previousSecret, mcp } = target;
    if (mcp === undefined) {
      const isBatch = batchLimit(target.settings) !== null;
      const body = isBatch ? (this.#preparedBody(due) ?? bodyOfBatch(due)) : due.envelope;
      return { headers: (atMs) => headersOf(due, body, target, atMs), body };
    }
    const body = webhookBody(due.envelope, mcp.cursor);
    const secrets = previousSecret === null ? [secret] : [secret, previousSecret];
    const message = { subscriptionId: mcp.subscriptionId, id: due.delivery.eventId, body, secrets };
    const traceparent = attemptTraceParent(due);
    return { headers: (atMs) => ({ ...callbackHeaders(message, atMs), traceparent }), body };
  }

  #preparedBody(due: DueAttempt): Buffer | undefined {
    const prepared = this.#prepared.get(due.envelope);
    const { events, last } = endOf(due);
    return prepared?.events === events && prepared.last === last ? prepared.body : undefined;
  }
}

/** A batch is known by its first and last envelope and their number: those in between follow each other. */
interface PreparedBatch {
  readonly events: number;
  readonly last: Buffer;
  readonly body: Buffer;
}

function endOf({ envelope, followers = [] }: DueAttempt): Pick<PreparedBatch, 'events' | 'last'> {
  return { events: 1 + followers.length, last: followers.at(-1)?.envelope ?? envelope };
}

function bodyOfBatch({ envelope, followers = [] }: DueAttempt): Buffer {
  return batchBody([envelope, ...followers.map((follower) => follower.envelope)]);
}

function headersOf(due: DueAttempt, body: Buffer, target: Target, atMs: number): Record<string, string> {
  return pushHeaders({ ...due, body }, target.secret, atMs, target.previousSecret, target);
}

function seqsOf({ delivery, followers = [] }: DueAttempt): readonly number[] {
  return [delivery, ...followers.map((follower) => follower.delivery)].map(({ seq }) => seq);
}

function errorOf(status: number, acknowledged: number | undefined): AttemptOutcome['error'] {
  if (status < 200 || status > 299) return { kind: 'http_status', detail: String(status) };
  return acknowledged === 0 ? { kind: 'not_acknowledged', detail: '' } : null;
}
