/** Why no answer came in time (contract 6.3). */
export type PushError = 'timeout' | 'dns' | 'connect' | 'tls' | 'blocked_address';

export type PushOutcome = {
  /** When the connection (or the request on a kept one) was begun, by the client's clock. */
  readonly startedAtMs: number;
} & (
  | {
      readonly kind: 'answered';
      /** 200 … 999: what it means is the caller's decision; redirects are not followed. */
      readonly status: number;
      /** From the start of the connection (or of the request on a kept one) to the response headers, milliseconds. */
      readonly durationMs: number;
      /** The start of the body, as text of at most 1 KiB of UTF-8 without control characters. */
      readonly responseExcerpt: string;
    }
  | {
      readonly kind: 'failed';
      readonly error: PushError;
      /** Short, in words for the endpoint's owner; names no address or host but the endpoint's own. */
      readonly detail: string;
      readonly durationMs: number;
    }
);

export interface PushRequest {
  /** Checked again here, so that a url that was stored under other rules cannot slip through. */
  readonly url: string;
  /**
   * Makes the headers when the connection is begun, so that signatures are stamped with the very time that the outcome
   * reports. `content-length`, `host` and `connection` are set by the client.
   */
  readonly headers: (startedAtMs: number) => Readonly<Record<string, string>>;
  readonly body: Buffer;
  /**
   * From the start of the connection, the look-up of the name included, to the response headers; also ends the body.
   */
  readonly timeoutMs: number;
  /** Ends the attempt at once, with `connect`: look at the signal before the outcome. */
  readonly signal?: AbortSignal | undefined;
}
