import type { AttemptOutcome, Destination, DueAttempt, Target } from '#libs/domain';
import type { PushClient } from './push/push-client.js';
import { pushHeaders } from './push/push-headers.js';

/** Pushes events as signed POSTs. Any 2xx in time accepts the delivery (contract 6.3). */
export class HttpDestination implements Destination {
  constructor(
    private readonly client: PushClient,
    private readonly timeoutMs: number,
  ) {}

  async attempt(due: DueAttempt, target: Target, signal: AbortSignal, onSent?: () => void): Promise<AttemptOutcome> {
    const outcome = await this.client.post({
      url: target.url,
      headers: (startedAtMs) => pushHeaders(due, target.secret, startedAtMs, target.previousSecret, target),
      body: due.envelope,
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
