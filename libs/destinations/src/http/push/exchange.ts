import type { Dispatcher } from 'undici';
import type { Clock } from '#libs/domain';
import type { Connection } from './connection.js';
import { EgressProxyAwayError } from '../proxy/egress-proxy.js';
import type { PushOutcome, PushRequest } from './push-attempt.js';
import { retryAfterMs } from './answer/retry-after.js';
import { sentSecrets } from './answer/sent-secrets.js';
import { MAX_EXCERPT_BYTES, responseExcerpt, responseText } from './answer/response-excerpt.js';
import {
  BODY_TOO_LONG,
  MAX_BODY_BYTES,
  timeoutDetail,
  transportFailure,
  type ExchangePhase,
  type TransportFailure,
} from './transport-error.js';

/** The statuses whose `Retry-After` counts. */
const MAY_ASK_TO_WAIT: readonly number[] = [429, 503];

const ABORTED: TransportFailure = { error: 'connect', detail: 'the attempt was ended' };

/** If the time limit ends this much later than it should, milliseconds, the process stood still. */
const STOOD_STILL_MS = 250;

export interface Exchanged {
  readonly outcome: PushOutcome;
  /** Whether the answer was read to its end, so that the connection can carry another request. */
  readonly reusable: boolean;
  /** Whether the request was written. */
  readonly wasSent: boolean;
  /** Set if nothing was sent because the proxy is away. The endpoint is not to blame. */
  readonly proxyAway?: EgressProxyAwayError;
  /** Set if the process stood still until the time was over, before it sent the request. The endpoint is not to blame. */
  readonly stoodStill?: true;
}

/** Why the endpoint is not to blame, if it is not. */
type Blameless = Pick<Exchanged, 'proxyAway' | 'stoodStill'>;

/**
 * One POST and its answer. It settles once: at the end of the body, at its size limit, on an error or on the timeout.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly startedAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Monotonic: the clock may be set meanwhile. */
  readonly #beganAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  #lastRead: NodeJS.Immediate | undefined;
  #sentAfterMs = Infinity;
  #status: number | undefined;
  #answeredAfterMs = 0;
  #retryAfterMs: number | undefined;
  #bodyBytes = 0;
  /** The start of the body, as much of it as is needed. */
  readonly #start: Buffer[] = [];

  constructor(
    readonly connection: Connection,
    readonly request: PushRequest,
    readonly clock: Clock,
    readonly resolve: (exchanged: Exchanged) => void,
  ) {
    this.startedAtMs = clock.now();
    this.headers = request.headers(this.startedAtMs);
    this.#timer = setTimeout(this.#onTimeOver, request.timeoutMs);
    request.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(): void {
    this.#sentAfterMs = this.#elapsedMs();
    this.request.onSent?.();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return;
    this.connection.expectBody();
    this.#status = status;
    this.#answeredAfterMs = this.#elapsedMs();
    if (MAY_ASK_TO_WAIT.includes(status)) this.#retryAfterMs = retryAfterMs(headers['retry-after'], this.clock.now());
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const needed = this.#needsBody ? MAX_BODY_BYTES : MAX_EXCERPT_BYTES;
    if (this.#bodyBytes < needed) {
      // Copy the bytes: the chunk is a view that would keep the whole read in memory.
      this.#start.push(Buffer.from(chunk.subarray(0, needed + 4)));
    }
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > MAX_BODY_BYTES) this.#end({ error: 'connect', detail: BODY_TOO_LONG });
  }

  onResponseEnd(): void {
    const { error } = this.connection;
    if (error !== undefined && this.#needsBody) this.#end(transportFailure(error, this.#phase));
    else this.#settle({ error: 'connect', detail: 'the answer has no status' }, true);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(
      transportFailure(this.connection.error ?? error, this.#phase),
      false,
      error instanceof EgressProxyAwayError ? { proxyAway: error } : {},
    );
  }

  readonly #onTimeOver = (): void => {
    const { timeoutMs } = this.request;
    const end = (blameless: Blameless = {}): void => {
      this.#settle({ error: 'timeout', detail: timeoutDetail(this.#phase, timeoutMs) }, false, blameless);
    };
    if (this.#sentAfterMs > timeoutMs) {
      end(this.#elapsedMs() > timeoutMs + STOOD_STILL_MS ? { stoodStill: true } : {});
    } else {
      // Timers may run before sockets are read. If the process stood still, the answer may have come in time.
      this.#lastRead = setImmediate(() => {
        end();
      });
    }
  };

  readonly #onAbort = (): void => {
    this.#end(ABORTED);
  };

  get #phase(): ExchangePhase {
    return this.#status === undefined ? this.connection.phase : 'answering';
  }

  /** Whether the answer counts only if its body comes whole. */
  get #needsBody(): boolean {
    const isAccepted = this.#status !== undefined && this.#status >= 200 && this.#status <= 299;
    return isAccepted && this.request.needsBody === true;
  }

  get #excerpt(): string {
    const { secretHeaders } = this.request;
    // Most answers have no body.
    if (secretHeaders === undefined || this.#start.length === 0) return responseExcerpt(this.#start);
    return responseExcerpt(this.#start, sentSecrets(this.headers, secretHeaders));
  }

  #elapsedMs(): number {
    return performance.now() - this.#beganAt;
  }

  #end(failure: TransportFailure): void {
    this.#settle(failure, false);
  }

  /**
   * Settles the exchange. Once a status has arrived, a later failure does not change it, unless the body is needed.
   * @param reusable whether the answer has come to its end
   */
  #settle(failure: TransportFailure, reusable: boolean, blameless: Blameless = {}): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#lastRead);
    this.request.signal?.removeEventListener('abort', this.#onAbort);
    this.resolve({
      outcome:
        this.#status === undefined || (this.#needsBody && !reusable)
          ? { kind: 'failed', ...failure, startedAtMs: this.startedAtMs, durationMs: Math.round(this.#elapsedMs()) }
          : {
              kind: 'answered',
              startedAtMs: this.startedAtMs,
              status: this.#status,
              durationMs: Math.round(this.#answeredAfterMs),
              untilEndMs: Math.floor(this.#elapsedMs() - this.#answeredAfterMs),
              responseExcerpt: this.#excerpt,
              ...(this.#needsBody ? { body: responseText(this.#start) } : {}),
              ...(this.#retryAfterMs === undefined ? {} : { retryAfterMs: this.#retryAfterMs }),
            },
      // After a reset in place of an end, the connection has no socket any more.
      reusable: reusable && this.#status !== undefined && this.connection.error === undefined,
      wasSent: this.#sentAfterMs < Infinity,
      ...blameless,
    });
    if (!reusable) this.connection.destroy();
  }
}

/** Sends the request over a connection that no other request uses, and waits for the answer. Never rejects. */
export function exchange(connection: Connection, path: string, request: PushRequest, clock: Clock): Promise<Exchanged> {
  if (request.signal?.aborted === true) {
    const outcome: PushOutcome = { kind: 'failed', ...ABORTED, startedAtMs: clock.now(), durationMs: 0 };
    return Promise.resolve({ outcome, reusable: false, wasSent: false });
  }
  return new Promise((resolve) => {
    const handler = new Exchange(connection, request, clock, resolve);
    const { method = 'POST' } = request;
    const { headers } = handler;
    connection.dispatch({ path, method, headers, body: method === 'GET' ? null : request.body }, handler);
  });
}
