import { X509Certificate } from 'node:crypto';

/**
 * What pushes present in the TLS handshake: PEM texts, the certificate with those of its chain after it. The members are
 * named as in requests.
 */
export interface ClientCertificate {
  readonly certificate: string;
  readonly private_key: string;
}

/** The part of it that may be shown. */
export interface ShownCertificate {
  readonly subject: string;
  /** SHA-256, in hex with colons. */
  readonly fingerprint: string;
  readonly expires_at: string;
}

const MAX_SUBJECT = 256;

/** @throws Error if it is not a certificate */
export function shownCertificate({ certificate }: ClientCertificate): ShownCertificate {
  const { subject, fingerprint256, validTo } = new X509Certificate(certificate);
  // Node has none for an empty name.
  const name = (subject as string | undefined) ?? '';
  return {
    // Characters that cannot be seen, or that turn text around, could disguise a name.
    subject: name.replaceAll('\n', ', ').slice(0, MAX_SUBJECT).replaceAll(/\p{C}/gu, '\ufffd'),
    fingerprint: fingerprint256,
    expires_at: new Date(validTo).toISOString(),
  };
}
