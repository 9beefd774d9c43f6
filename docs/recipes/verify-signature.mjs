// Verifies X-Service-Signature. Node 18 or later, no dependencies.
//
//   const problem = signatureProblem({ header: request.headers['x-service-signature'], body: rawBody, secret });
//   if (problem !== null) return response.writeHead(401).end();
//
// `body` is the raw body as a Buffer, before anything has parsed it: in Express it comes from
// express.raw({ type: 'application/json' }).
import { createHmac, timingSafeEqual } from 'node:crypto';

const TOLERANCE_SECONDS = 300;

/** null if the signature is good; else 'missing', 'malformed', 'expired' or 'mismatch'. */
export function signatureProblem({ header, body, secret, now = Math.floor(Date.now() / 1000) }) {
  if (header === undefined || header === null || header === '') return 'missing';

  // Members of other names are left for later versions; t and v1 must each be there once.
  const members = new Map();
  for (const member of header.split(',')) {
    const match = /^([a-z][a-z0-9]*)=([!-~]+)$/.exec(member);
    if (match === null || members.has(match[1])) return 'malformed';
    members.set(match[1], match[2]);
  }
  const t = members.get('t') ?? '';
  const v1 = members.get('v1') ?? '';
  if (!/^(0|[1-9][0-9]{0,11})$/.test(t) || !/^[0-9a-f]+$/.test(v1)) return 'malformed';

  if (Math.abs(now - Number(t)) > TOLERANCE_SECONDS) return 'expired';

  // Anyone can sign with an empty key.
  if (secret === '') return 'mismatch';
  const expected = Buffer.from(createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex'));
  const given = Buffer.from(v1);
  return expected.length === given.length && timingSafeEqual(expected, given) ? null : 'mismatch';
}
