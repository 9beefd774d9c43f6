import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS } from 'node:tls';

/**
 * Options for every handshake with a receiver: what it may not choose, because the thread that pushes for all pays for it.
 * `connect` ignores them beside a `secureContext`, which needs them itself.
 */
export const TLS_LIMITS = {
  // A finite-field group can have 10,000 bits, which block the thread for a second.
  ciphers: `${DEFAULT_CIPHERS}:!kDHE`,
  // Without these groups for TLS 1.3, which OpenSSL 3.0 offers with up to 8,192 bits.
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  // Nothing counts how often a TLS 1.2 receiver begins the handshake again.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;
