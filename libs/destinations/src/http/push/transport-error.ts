import { errorCode } from '#libs/domain';
import { ANSWER_TOO_LONG, MAX_HEAD_BYTES, MAX_HEADER_BYTES } from './answer/bounded-answer.js';
import { HANDSHAKE_TOO_LONG, MAX_HANDSHAKE_BYTES, MAX_RECORD_BYTES, RECORDS_TOO_LONG } from './bounded-handshake.js';
import { EgressProxyRefusal } from '../proxy/egress-proxy.js';
import type { PushError } from './push-attempt.js';

/** The phase that a connection has reached. */
export type ConnectionPhase = 'resolving' | 'connecting' | 'securing' | 'open';

/** The phase of an exchange: that of its connection, until the headers of the answer have come. */
export type ExchangePhase = ConnectionPhase | 'answering';

/** The look-up found no address that may be connected to. */
export class EndpointAddressError extends Error {
  override readonly name = 'EndpointAddressError';
  constructor(
    readonly pushError: 'dns' | 'blocked_address',
    detail: string,
  ) {
    super(detail);
  }
}

/** The endpoint's client certificate cannot be presented. */
export class ClientCertificateError extends Error {
  override readonly name = 'ClientCertificateError';
}

export interface TransportFailure {
  readonly error: PushError;
  readonly detail: string;
}

/** Reads at most this many bytes of a body, then drops the connection (contract 6.3). */
export const MAX_BODY_BYTES = 16 * 1024;

/** The body has more bytes than are read. */
export const BODY_TOO_LONG = `the answer is longer than ${MAX_BODY_BYTES / 1024} KiB`;

/** Explanations of the codes that endpoint owners meet. Other network or TLS codes are shown unchanged. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset before the answer',
  EPIPE: 'the connection was closed before the answer',
  UND_ERR_SOCKET: 'the connection was closed before the answer',
  ETIMEDOUT: 'no connection could be made',
  EHOSTUNREACH: 'the address cannot be reached',
  ENETUNREACH: 'the address cannot be reached',
  EADDRNOTAVAIL: 'the address cannot be reached',
  UND_ERR_INVALID_ARG: 'the request cannot be sent',
  UND_ERR_HEADERS_OVERFLOW: `the response headers are larger than ${MAX_HEADER_BYTES / 1024} KiB`,
  [ANSWER_TOO_LONG]: `the answer has more than ${MAX_HEAD_BYTES / 1024} KiB before its body`,
  [HANDSHAKE_TOO_LONG]: `the TLS handshake has more than ${MAX_HANDSHAKE_BYTES / 1024} KiB: the certificate chain or the list of client authorities is too long`,
  [RECORDS_TOO_LONG]: `the answer has more than ${MAX_RECORD_BYTES / 1024} KiB of TLS records`,
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate chain ends in an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'the certificate chain ends in an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate chain ends in an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate chain is incomplete',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'the receiver refused the TLS handshake',
  // The same from OpenSSL 3.2 on.
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': 'the receiver refused the TLS handshake',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'the receiver requires a client certificate',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'the receiver does not know the authority of the client certificate',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the port does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the port does not speak TLS',
};

/** The same for an answer that has begun. */
const WORDS_WITHIN_ANSWER: Readonly<Record<string, string>> = {
  ECONNRESET: 'the connection was reset within the answer',
  EPIPE: 'the connection was closed within the answer',
  UND_ERR_SOCKET: 'the connection was closed within the answer',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the connection was closed within the answer',
  UND_ERR_HEADERS_OVERFLOW: BODY_TOO_LONG,
  [ANSWER_TOO_LONG]: BODY_TOO_LONG,
};

/** Errors that can break a connection at any time, also during the TLS handshake. */
const NETWORK_CODES = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_SOCKET']);

/** @param phase the phase when the error occurred */
export function transportFailure(cause: unknown, phase: ExchangePhase): TransportFailure {
  if (cause instanceof EndpointAddressError) return { error: cause.pushError, detail: cause.message };
  if (cause instanceof ClientCertificateError) return { error: 'tls', detail: cause.message };
  if (cause instanceof EgressProxyRefusal) return { error: 'connect', detail: cause.message };
  const code = errorCode(cause);
  // An alert can also follow the handshake: TLS 1.3 servers refuse a missing client certificate that late.
  const byTls = code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code === 'EPROTO';
  const error = byTls || (phase === 'securing' && !NETWORK_CODES.has(code)) ? 'tls' : 'connect';
  const words = (phase === 'answering' ? WORDS_WITHIN_ANSWER[code] : undefined) ?? WORDS[code];
  if (words !== undefined) return { error, detail: words };
  // On an open connection, all other errors come from undici's parser. Some have no code.
  if ((phase === 'open' || phase === 'answering') && !byTls)
    return { error, detail: 'the answer is not valid HTTP/1.1' };
  return { error, detail: code === '' ? 'the connection failed' : code.toLowerCase() };
}

/** Describes a timeout in this phase. */
export function timeoutDetail(phase: ExchangePhase, timeoutMs: number): string {
  switch (phase) {
    case 'resolving':
      return `the name was not resolved within ${timeoutMs} ms`;
    case 'connecting':
      return `no connection within ${timeoutMs} ms`;
    case 'securing':
      return `no TLS handshake within ${timeoutMs} ms`;
    case 'open':
      return `no response headers within ${timeoutMs} ms`;
    case 'answering':
      return `no end of the answer within ${timeoutMs} ms`;
  }
}
