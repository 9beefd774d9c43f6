import type { ClientCertificate, EndpointId } from '#libs/domain';
import type { SecretHeaders } from './answer/sent-secrets.js';

/** Why no answer came in time, or not all of it (contract 6.3). */
export type PushError = 'timeout' | 'dns' | 'connect' | 'tls' | 'blocked_address';

export type PushOutcome = {
  /** When the connection (or the request on a kept one) began, in epoch milliseconds of the client's clock. */
  readonly startedAtMs: number;
} & (
  | {
      readonly kind: 'answered';
      /** 200 … 999. The caller decides what it means; redirects are not followed. */
      readonly status: number;
      /** From the start of the connection (or of the request on a kept one) to the response headers, milliseconds. */
      readonly durationMs: number;
      /** From the response headers to the end of the exchange, milliseconds. */
      readonly untilEndMs: number;
      /** The start of the body, as text of at most 1 KiB of UTF-8 without control characters and secrets of the request. */
      readonly responseExcerpt: string;
      /** The whole body, if the request asked for it and the status is 2xx; at most 16 KiB on the wire. */
      readonly body?: string;
      /** `Retry-After` of a 429 or 503, milliseconds; missing without a valid one. */
      readonly retryAfterMs?: number;
    }
  | {
      readonly kind: 'failed';
      readonly error: PushError;
      /** A short reason for the endpoint's owner. It names no address or host other than the endpoint's own. */
      readonly detail: string;
      readonly durationMs: number;
    }
);

/** A client certificate, and the endpoint that it is presented to. */
export interface ClientIdentity extends ClientCertificate {
  readonly endpointId: EndpointId;
}

export interface PushRequest {
  /** Checked again here, because it may have been stored under older rules. */
  readonly url: string;
  /**
   * Makes the headers when the connection begins, so that the signatures carry the same time as the outcome. The client
   * sets `content-length`, `host` and `connection`.
   */
  readonly headers: (startedAtMs: number) => Readonly<Record<string, string>>;
  /** Those that the excerpt of the answer does not repeat. Many servers show a request in their answer. */
  readonly secretHeaders?: SecretHeaders;
  /** Presented in the handshake. No other endpoint gets the connection, and no other certificate. */
  readonly identity?: ClientIdentity | undefined;
  /** Default: `POST`. A `GET` has no body. */
  readonly method?: 'GET' | 'POST';
  readonly body: Buffer;
  /**
   * Whether an answer with a 2xx counts only if its body comes whole. If the body breaks off, is longer than 16 KiB or
   * takes longer than the time limit, the attempt has failed. By default, the status alone decides.
   */
  readonly needsBody?: boolean;
  /**
   * The time limit, from the start of the connection (with the name look-up) to the response headers, milliseconds. It
   * also limits the body.
   */
  readonly timeoutMs: number;
  /** Called when the request is written to a connection that is open. */
  readonly onSent?: (() => void) | undefined;
  /** Ends the attempt at once, with the error `connect`: check the signal before the outcome. */
  readonly signal?: AbortSignal | undefined;
}
