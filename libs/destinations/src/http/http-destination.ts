import {
  acknowledgedOf,
  batchBody,
  batchLimit,
  webhookBody,
  type AttemptOutcome,
  type Destination,
  type DueAttempt,
  type Target,
} from '#libs/domain';
import { attemptTraceParent } from '../attempt-trace-parent.js';
import type { PushRequest } from './push/push-attempt.js';
import type { PushClient } from './push/push-client.js';
import { callbackHeaders, pushHeaders } from './push/push-headers.js';
import { shortened } from './push/response-excerpt.js';

/** The part of an answer to a batch that is read. */
const ANSWER_BYTES = 16 * 1024;

/** Pushes events as signed POSTs. Any 2xx in time accepts the delivery (contract 6.3). */
export class HttpDestination implements Destination {
  constructor(
    private readonly client: PushClient,
    private readonly timeoutMs: number,
  ) {}

  async attempt(due: DueAttempt, target: Target, signal: AbortSignal, onSent?: () => void): Promise<AttemptOutcome> {
    const isBatch = target.mcp === undefined && batchLimit(target.settings) !== null;
    const outcome = await this.client.post({
      url: target.url,
      ...messageOf(due, target),
      ...(isBatch ? { excerptBytes: ANSWER_BYTES } : {}),
      timeoutMs: this.timeoutMs,
      signal,
      onSent,
    });
    const { startedAtMs, durationMs } = outcome;
    const method = { 'http.request.method': 'POST' };
    if (outcome.kind === 'failed') {
      const error = { kind: outcome.error, detail: outcome.detail };
      return { startedAtMs, durationMs, response: null, error, attributes: method };
    }
    const { status, responseExcerpt: answer, retryAfterMs } = outcome;
    const succeeded = status >= 200 && status <= 299;
    const excerpt = isBatch ? shortened(answer) : answer;
    const acknowledged = isBatch && succeeded ? acknowledgedOf(seqsOf(due), answer) : undefined;
    return {
      startedAtMs,
      durationMs,
      response: { code: status, excerpt, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
      error: errorOf(status, acknowledged),
      ...(acknowledged === undefined ? {} : { acknowledged }),
      attributes: { ...method, 'http.response.status_code': status },
    };
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

function seqsOf({ delivery, followers = [] }: DueAttempt): readonly number[] {
  return [delivery, ...followers.map((follower) => follower.delivery)].map(({ seq }) => seq);
}

function errorOf(status: number, acknowledged: number | undefined): AttemptOutcome['error'] {
  if (status < 200 || status > 299) return { kind: 'http_status', detail: String(status) };
  return acknowledged === 0 ? { kind: 'not_acknowledged', detail: '' } : null;
}

function messageOf(due: DueAttempt, target: Target): Pick<PushRequest, 'headers' | 'body'> {
  const { secret, previousSecret, mcp } = target;
  if (mcp === undefined) {
    const body =
      batchLimit(target.settings) === null
        ? due.envelope
        : batchBody([due.envelope, ...(due.followers ?? []).map(({ envelope }) => envelope)]);
    return { headers: (atMs) => pushHeaders({ ...due, body }, secret, atMs, previousSecret, target), body };
  }
  const body = webhookBody(due.envelope, mcp.cursor);
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret];
  const message = { subscriptionId: mcp.subscriptionId, id: due.delivery.eventId, body, secrets };
  const traceparent = attemptTraceParent(due);
  return { headers: (atMs) => ({ ...callbackHeaders(message, atMs), traceparent }), body };
}
