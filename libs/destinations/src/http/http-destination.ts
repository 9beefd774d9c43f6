import { webhookBody, type AttemptOutcome, type Destination, type DueAttempt, type Target } from '#libs/domain';
import { attemptTraceParent } from '../attempt-trace-parent.js';
import type { PushRequest } from './push/push-attempt.js';
import type { PushClient } from './push/push-client.js';
import { callbackHeaders, pushHeaders } from './push/push-headers.js';

/** Pushes events as signed POSTs. Any 2xx in time accepts the delivery (contract 6.3). */
export class HttpDestination implements Destination {
  constructor(
    private readonly client: PushClient,
    private readonly timeoutMs: number,
  ) {}

  async attempt(due: DueAttempt, target: Target, signal: AbortSignal, onSent?: () => void): Promise<AttemptOutcome> {
    const outcome = await this.client.post({
      url: target.url,
      ...messageOf(due, target),
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
    const { status, responseExcerpt: excerpt, retryAfterMs } = outcome;
    const succeeded = status >= 200 && status <= 299;
    return {
      startedAtMs,
      durationMs,
      response: { code: status, excerpt, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
      error: succeeded ? null : { kind: 'http_status', detail: String(status) },
      attributes: { ...method, 'http.response.status_code': status },
    };
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

function messageOf(due: DueAttempt, target: Target): Pick<PushRequest, 'headers' | 'body'> {
  const { secret, previousSecret, mcp } = target;
  if (mcp === undefined) {
    return { headers: (atMs) => pushHeaders(due, secret, atMs, previousSecret, target), body: due.envelope };
  }
  const body = webhookBody(due.envelope, mcp.cursor);
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret];
  const message = { subscriptionId: mcp.subscriptionId, id: due.delivery.eventId, body, secrets };
  const traceparent = attemptTraceParent(due);
  return { headers: (atMs) => ({ ...callbackHeaders(message, atMs), traceparent }), body };
}
