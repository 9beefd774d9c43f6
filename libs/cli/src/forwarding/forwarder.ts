import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import axios from 'axios';
import { backOffMs, randomFraction } from '../../../api-client/src/index.js';
import { CliError } from '../cli-error.js';
import { pushHeaders, type EventHead } from './push-headers.js';

export interface ForwarderOptions {
  /** Where pushes go. */
  readonly url: string;
  readonly secret: string;
  /** How often an event is tried before the next one; without limit by default. */
  readonly maxAttempts?: number;
  readonly now: () => number;
  readonly onAttempt: (attempt: ForwardAttempt) => void;
}

export interface ForwardAttempt {
  readonly event: EventHead;
  readonly attempt: number;
  /** The status, or why there was none. */
  readonly outcome: string;
  readonly succeeded: boolean;
  readonly durationMs: number;
}

/** As long as a real push waits (contract 6.3). */
const TIMEOUT_MS = 10_000;
/** Short, because somebody is fixing the handler at the moment. */
const MAX_WAIT_MS = 5_000;

/** Sends events to the developer's server, one after the other, each until it succeeds. */
export class Forwarder {
  constructor(private readonly options: ForwarderOptions) {}

  /** @returns false when aborted before it succeeded or was given up */
  async forward(event: EventHead, body: Buffer, signal: AbortSignal): Promise<boolean> {
    const { maxAttempts = Infinity } = this.options;
    for (let attempt = 1; !signal.aborted; attempt++) {
      if (await this.#attempt(event, body, attempt, signal)) return true;
      if (attempt >= maxAttempts) return true;
      const waitMs = Math.min(backOffMs(attempt, randomFraction()), MAX_WAIT_MS);
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
    return false;
  }

  async #attempt(event: EventHead, body: Buffer, attempt: number, signal: AbortSignal): Promise<boolean> {
    const { url, secret, now, onAttempt } = this.options;
    const beganMs = performance.now();
    const { outcome, succeeded } = await push(
      url,
      body,
      pushHeaders({ event, body, attempt, secret, nowMs: now() }),
      signal,
    );
    if (signal.aborted && !succeeded) return false;
    onAttempt({ event, attempt, outcome, succeeded, durationMs: performance.now() - beganMs });
    return succeeded;
  }
}

async function push(
  url: string,
  body: Buffer,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<{ readonly outcome: string; readonly succeeded: boolean }> {
  // axios limits the time until the whole response; only its headers matter here.
  const patience = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const { status, data } = await axios.request<Readable>({
      method: 'POST',
      url,
      headers,
      data: body,
      responseType: 'stream',
      maxRedirects: 0,
      // The developer's own server is not behind a proxy.
      proxy: false,
      validateStatus: () => true,
      transformRequest: [(bytes: Buffer) => bytes],
      signal: patience,
    });
    data.on('error', () => undefined).destroy();
    return { outcome: String(status), succeeded: status >= 200 && status < 300 };
  } catch (error) {
    const code = axios.isAxiosError(error) ? error.code : undefined;
    return { outcome: code === 'ERR_CANCELED' ? 'no answer within 10 s' : (code ?? String(error)), succeeded: false };
  }
}

/**
 * Returns the URL to forward to. `localhost:3000/hooks` is short for `http://localhost:3000/hooks`.
 * @throws CliError
 */
export function forwardUrl(text: string): string {
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url !== undefined && ['http:', 'https:'].includes(url.protocol)) return url.href;
  throw new CliError(`${text} is not an address to forward to. Write it as in localhost:3000/webhooks.`, 2);
}
