import { createHash, createHmac } from 'node:crypto';

/** What a verifier has to say (contract 6.2): `valid`, or why not. */
type Verdict = 'valid' | 'missing' | 'malformed' | 'expired' | 'mismatch';

/** One call of a verifier, and its verdict. */
export interface SignatureVector {
  readonly name: string;
  /** The endpoint's secret, whole. */
  readonly secret: string;
  /** The value of `X-Service-Signature`; null: the request has none. */
  readonly header: string | null;
  /** The raw body's bytes. */
  readonly body_base64: string;
  /** The verifier's clock, seconds since the Unix epoch. */
  readonly now: number;
  readonly expected: Verdict;
}

const SECRET = `whsec_${Buffer.from('01234567890123456789012345678901').toString('base64')}`;
const OTHER_SECRET = `whsec_${Buffer.from('abcdefghijabcdefghijabcdefghijab').toString('base64')}`;
const T = 1_700_000_000;
const BODY = Buffer.from(
  '{"id":"evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG","seq":4128,"event":"lead.created","data":{"name":"Zoë","n":1.0}}',
);

// Not by the library that is tested with them: what is expected has to come from somewhere else.
function hmac(key: string | Buffer, ...parts: readonly (string | Buffer)[]): string {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest('hex');
}
const headerOf = (t: number | string, body: Buffer, secret = SECRET): string =>
  `t=${t},v1=${hmac(secret, `${t}.`, body)}`;

const V1 = hmac(SECRET, `${T}.`, BODY);
const HEADER = `t=${T},v1=${V1}`;

interface Changes {
  readonly secret?: string;
  readonly header?: string | null;
  readonly body?: Buffer | string;
  readonly now?: number;
}

/** The vector of a good push but for the changes. */
function vector(expected: Verdict, name: string, changes: Changes = {}): SignatureVector {
  const { secret = SECRET, header = HEADER, body = BODY, now = T } = changes;
  return { name, secret, header, body_base64: Buffer.from(body).toString('base64'), now, expected };
}

function signed(name: string, body: Buffer | string, secret = SECRET): SignatureVector {
  return vector('valid', name, { secret, body, header: headerOf(T, Buffer.from(body), secret) });
}

const valid: readonly SignatureVector[] = [
  vector('valid', 'what the service signs'),
  vector('valid', 'v1 before t', { header: `v1=${V1},t=${T}` }),
  vector('valid', 'a member of a later version behind', { header: `${HEADER},v2=abc` }),
  vector('valid', 'a member of a later version in front', { header: `v0=abc,${HEADER}` }),
  vector('valid', 'two v1, the first of this secret', { header: `${HEADER},v1=${hmac('whsec_other', `${T}.`, BODY)}` }),
  vector('valid', 'two v1, the second of this secret', {
    header: `t=${T},v1=${hmac('whsec_other', `${T}.`, BODY)},v1=${V1}`,
  }),
  vector('valid', 'exactly 300 seconds old', { now: T + 300 }),
  vector('valid', 'exactly 300 seconds ahead', { now: T - 300 }),
  signed('an empty body', ''),
  signed('a body that is not UTF-8', Buffer.from([0x00, 0xff, 0xfe, 0x80, 0x0d, 0x0a])),
  signed('a body with spaces and line ends of its own', '{ "id" : "evt_1" ,\r\n\t"n" : 1.0 }\n'),
  signed('a body of 3,000 bytes', Buffer.alloc(3_000, 'a')),
  signed('a secret that is not ASCII', BODY, 'whsec_pässwörd'),
  vector('valid', 'a timestamp of one digit', { header: headerOf(0, BODY), now: 0 }),
];

const missing: readonly SignatureVector[] = [
  vector('missing', 'no header', { header: null }),
  vector('missing', 'an empty header', { header: '' }),
];

const malformed: readonly SignatureVector[] = (
  [
    ['no v1', `t=${T}`],
    ['no t', `v1=${V1}`],
    ['t without a value', `t=,v1=${V1}`],
    ['v1 without a value', `t=${T},v1=`],
    ['neither has a value', 't=,v1='],
    ['v0 in place of v1', `t=${T},v0=${V1}`],
    ['t twice', `${HEADER},t=${T}`],
    ['two v1, one of them in capitals', `${HEADER},v1=${V1.toUpperCase()}`],
    ['two v1, one of them without a value', `${HEADER},v1=`],
    ['another member twice', `${HEADER},v2=a,v2=a`],
    ['two headers that were joined', `${HEADER}, ${HEADER}`],
    ['a comma at the end', `${HEADER},`],
    ['a comma at the beginning', `,${HEADER}`],
    ['a space at the beginning', ` ${HEADER}`],
    ['a space at the end', `${HEADER} `],
    ['a line feed at the end', `${HEADER}\n`],
    ['a space after the comma', `t=${T}, v1=${V1}`],
    ['a semicolon in place of the comma', `t=${T};v1=${V1}`],
    ['names in capitals', `T=${T},V1=${V1}`],
    ['t with a leading zero', `t=0${T},v1=${V1}`],
    ['t with a plus', `t=+${T},v1=${V1}`],
    ['t with a minus', `t=-${T},v1=${V1}`],
    ['t with a fraction', `t=${T}.0,v1=${V1}`],
    ['t with an exponent', `t=17e8,v1=${V1}`],
    ['t in hex', `t=0x6553f100,v1=${V1}`],
    [
      't in digits of another script',
      `t=${String(T).replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)))},v1=${V1}`,
    ],
    ['t of 13 digits: milliseconds', `t=${T}000,v1=${V1}`],
    ['t of 40 digits', `t=${'9'.repeat(40)},v1=${V1}`],
    ['t that is no number', `t=NaN,v1=${V1}`],
    ['v1 in capitals', `t=${T},v1=${V1.toUpperCase()}`],
    ['v1 in base64', `t=${T},v1=${Buffer.from(V1, 'hex').toString('base64')}`],
    ['v1 with a letter that is not hex', `t=${T},v1=${V1.slice(0, 63)}g`],
    ['v1 behind two equals signs', `t=${T},v1==${V1}`],
    ['the value of X-Webhook-Signature', hmac(SECRET, BODY)],
    ['the value of webhook-signature', `v1,${Buffer.from(V1, 'hex').toString('base64')}`],
    ['something else', 'nonsense'],
  ] as const
).map(([name, header]) => vector('malformed', name, { header }));

const expired: readonly SignatureVector[] = [
  vector('expired', '301 seconds old', { now: T + 301 }),
  vector('expired', '301 seconds ahead', { now: T - 301 }),
  vector('expired', 'a day old', { now: T + 86_400 }),
  vector('expired', 'signed at the epoch', { header: headerOf(0, BODY) }),
  vector('expired', 'a timestamp of 12 digits', { header: headerOf('999999999999', BODY) }),
  vector('expired', 'an old one that is signed with another secret', {
    header: headerOf(T, BODY, OTHER_SECRET),
    now: T + 301,
  }),
];

/** The same JSON value in other bytes. */
const REPRINTED = JSON.stringify(JSON.parse(BODY.toString()));

const mismatch: readonly SignatureVector[] = [
  vector('mismatch', 'another secret', { header: headerOf(T, BODY, OTHER_SECRET) }),
  vector('mismatch', 'the secret without its prefix', { header: headerOf(T, BODY, SECRET.slice('whsec_'.length)) }),
  vector('mismatch', 'the bytes that the secret encodes as the key', {
    header: `t=${T},v1=${hmac(Buffer.from(SECRET.slice('whsec_'.length), 'base64'), `${T}.`, BODY)}`,
  }),
  vector('mismatch', 'the secret with a line feed after it', { secret: `${SECRET}\n` }),
  vector('mismatch', 'an empty secret, which anybody can sign with', { secret: '', header: headerOf(T, BODY, '') }),
  vector('mismatch', 'a body that was parsed and printed again', { body: REPRINTED }),
  vector('mismatch', 'a body with one letter changed', { body: BODY.toString().replace('4128', '4129') }),
  vector('mismatch', 'a body with a line feed after it', { body: `${BODY.toString()}\n` }),
  vector('mismatch', 'a body without its last byte', { body: BODY.subarray(0, -1) }),
  vector('mismatch', 'a body with a byte order mark', { body: `\uFEFF${BODY.toString()}` }),
  vector('mismatch', 'a body in another Unicode form', { body: BODY.toString().normalize('NFD') }),
  vector('mismatch', 'a body in another encoding', { body: Buffer.from(BODY.toString(), 'latin1') }),
  vector('mismatch', 'an empty body in place of the one that was signed', { body: '' }),
  vector('mismatch', 'the signature of another body', { header: headerOf(T, Buffer.from('{}')) }),
  vector('mismatch', 'another timestamp than was signed', { header: `t=${T + 1},v1=${V1}` }),
  vector('mismatch', 'the HMAC of the body alone', { header: `t=${T},v1=${hmac(SECRET, BODY)}` }),
  vector('mismatch', 'the HMAC of the body before the timestamp', {
    header: `t=${T},v1=${hmac(SECRET, BODY, `.${T}`)}`,
  }),
  vector('mismatch', 'the timestamp and the body without the dot', {
    header: `t=${T},v1=${hmac(SECRET, String(T), BODY)}`,
  }),
  vector('mismatch', 'the HMAC of the timestamp in milliseconds', {
    header: `t=${T},v1=${hmac(SECRET, `${T}000.`, BODY)}`,
  }),
  vector('mismatch', 'a SHA-256 without a key', {
    header: `t=${T},v1=${createHash('sha256').update(`${T}.`).update(BODY).digest('hex')}`,
  }),
  vector('mismatch', 'an HMAC-SHA1', {
    header: `t=${T},v1=${createHmac('sha1', SECRET).update(`${T}.`).update(BODY).digest('hex')}`,
  }),
  vector('mismatch', 'v1 without its last two digits', { header: HEADER.slice(0, -2) }),
  vector('mismatch', 'v1 without its last digit', { header: HEADER.slice(0, -1) }),
  vector('mismatch', 'v1 with two digits more', { header: `${HEADER}00` }),
  vector('mismatch', 'v1 of one digit', { header: `t=${T},v1=${V1.charAt(0)}` }),
  vector('mismatch', 'two v1 of other secrets', {
    header: `t=${T},v1=${hmac('whsec_other', `${T}.`, BODY)},v1=${hmac('whsec_third', `${T}.`, BODY)}`,
  }),
  vector('mismatch', 'v1 of zeros', { header: `t=${T},v1=${'0'.repeat(64)}` }),
  vector('mismatch', 'v1 with its last digit changed', {
    header: `${HEADER.slice(0, -1)}${HEADER.endsWith('0') ? '1' : '0'}`,
  }),
  vector('mismatch', 'the signature in a member of a later version', {
    header: `t=${T},v1=${'0'.repeat(64)},v2=${V1}`,
  }),
];

/** Every vector: good ones first, then by what is wrong with them. */
export const SIGNATURE_VECTORS: readonly SignatureVector[] = [
  ...valid,
  ...missing,
  ...malformed,
  ...expired,
  ...mismatch,
];

const DESCRIPTION =
  'Calls of a verifier of X-Service-Signature and what it has to say. The key is the whole secret as UTF-8; the message is ' +
  'the digits of t, a dot, and the bytes of the body. Reasons are looked for in the order missing, malformed, expired, mismatch.';

/** `signatures.json` as it is committed. */
export const SIGNATURE_VECTORS_JSON = `${JSON.stringify(
  { description: DESCRIPTION, tolerance_seconds: 300, vectors: SIGNATURE_VECTORS },
  null,
  2,
)}\n`;
