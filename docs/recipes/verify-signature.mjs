// Verifies X-Service-Signature. Node 18 or later, no dependencies.
//
//   const problem = signatureProblem({ header: request.headers['x-service-signature'], body: rawBody, secret });
//   if (problem !== null) return response.writeHead(401).end();
//
// `body` is the raw body as a Buffer, before anything has parsed it: in Express it comes from
// express.raw({ type: 'application/json', limit: '1mb' }). By default, it refuses more than 100 KiB.
import { createHmac, timingSafeEqual } from 'node:crypto';

const TOLERANCE_SECONDS = 300;

/** null if the signature is good; else 'missing', 'malformed', 'expired' or 'mismatch'. */
export function signatureProblem({ header, body, secret, now = Math.floor(Date.now() / 1000) }) {
  if (header === undefined || header === null || header === '') return 'missing';

  // Members of other names are left for later versions. While a secret is replaced, there is one v1 for each of the two.
  const members = new Map();
  const digests = [];
  for (const member of header.split(',')) {
    const match = /^([a-z][a-z0-9]*)=([!-~]+)$/.exec(member);
    if (match === null || members.has(match[1])) return 'malformed';
    if (match[1] === 'v1') digests.push(match[2]);
    else members.set(match[1], match[2]);
  }
  const t = members.get('t') ?? '';
  if (!/^(0|[1-9][0-9]{0,11})$/.test(t)) return 'malformed';
  if (digests.length === 0 || !digests.every((v1) => /^[0-9a-f]+$/.test(v1))) return 'malformed';

  if (Math.abs(now - Number(t)) > TOLERANCE_SECONDS) return 'expired';

  // Anyone can sign with an empty key.
  if (secret === '') return 'mismatch';
  const expected = Buffer.from(createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex'));
  const matches = (given) => expected.length === given.length && timingSafeEqual(expected, given);
  return digests.some((v1) => matches(Buffer.from(v1))) ? null : 'mismatch';
}
