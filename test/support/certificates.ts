import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface KeyAndCertificate {
  /** PEM */
  readonly key: string;
  /** PEM */
  readonly cert: string;
}

export interface TestCertificates {
  /** PEM of the authority that signed all certificates that are not self-signed. */
  readonly ca: string;
  /** For `localhost` and 127.0.0.1. */
  readonly valid: KeyAndCertificate;
  /** For a host that the test does not use. */
  readonly wrongHost: KeyAndCertificate;
  readonly expired: KeyAndCertificate;
  readonly selfSigned: KeyAndCertificate;
  /** Also self-signed. It has an RSA key, and the others have EC keys. */
  readonly rsa: KeyAndCertificate;
}

/** Makes certificates with the `openssl` program, which must be installed. Takes a fraction of a second. */
export function makeCertificates(): TestCertificates {
  const directory = mkdtempSync(join(tmpdir(), 'gapless-certificates-'));
  const file = (name: string): string => join(directory, name);
  const read = (name: string): string => readFileSync(file(name), 'utf8');
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { stdio: 'pipe', cwd: directory });
  };
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

  try {
    openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Test CA', '-days', '2');
    // `x509 -req` takes past dates only as a number of days. `ca` takes dates, but needs its small database.
    writeFileSync(file('index.txt'), '');
    writeFileSync(file('serial'), '01\n');
    writeFileSync(
      file('ca.cnf'),
      [
        '[ca]\ndefault_ca=test\n[test]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256',
        'policy=any\ncopy_extensions=copy\nunique_subject=no\n[any]\ncommonName=supplied\n',
      ].join('\n'),
    );
    const issue = (name: string, subjectAltName: string, start: string, end: string): KeyAndCertificate => {
      const out = ['-keyout', `${name}.key`, '-out', `${name}.csr`];
      openssl('req', '-new', ...newKey, ...out, '-subj', `/CN=${name}`, '-addext', `subjectAltName=${subjectAltName}`);
      const dates = ['-startdate', start, '-enddate', end];
      const authority = ['-config', 'ca.cnf', '-cert', 'ca.pem', '-keyfile', 'ca.key'];
      openssl('ca', '-batch', '-notext', ...authority, '-in', `${name}.csr`, '-out', `${name}.pem`, ...dates);
      return { key: read(`${name}.key`), cert: read(`${name}.pem`) };
    };
    const local = 'DNS:localhost,DNS:hooks.example.com,IP:127.0.0.1';
    const selfSign = (name: string, key: readonly string[]): KeyAndCertificate => {
      const out = ['-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', '/CN=localhost', '-days', '2'];
      openssl('req', '-x509', ...key, ...out, '-addext', `subjectAltName=${local}`);
      return { key: read(`${name}.key`), cert: read(`${name}.pem`) };
    };
    return {
      ca: read('ca.pem'),
      valid: issue('valid', local, '20200101000000Z', '20991231000000Z'),
      wrongHost: issue('other', 'DNS:other.example', '20200101000000Z', '20991231000000Z'),
      expired: issue('expired', local, '20200101000000Z', '20210101000000Z'),
      selfSigned: selfSign('self', newKey),
      rsa: selfSign('rsa', ['-newkey', 'rsa:2048', '-nodes']),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
