/** How old a signature may be, in seconds (contract 6.2). */
const TOLERANCE_S = 300;

/** The input of the check: a push as a receiver got it, and its secret. */
export interface SignatureInput {
  readonly secret: string;
  /** The value of `X-Service-Signature`. */
  readonly header: string;
  readonly body: string;
}

export interface SignatureStep {
  readonly verdict: 'pass' | 'fail' | 'warn';
  readonly text: string;
}

/** The result of a check as a receiver would report it, and the reasons. */
export interface SignatureReport {
  readonly isValid: boolean;
  readonly steps: readonly SignatureStep[];
}

/**
 * Verifies a push as a receiver does (contract 6.2). If that fails, it looks for the usual mistakes.
 * @param nowMs the present time; an old signature still verifies, but a receiver would refuse it today
 */
export async function checkSignature(
  { secret, header, body }: SignatureInput,
  nowMs: number,
): Promise<SignatureReport> {
  const parsed = parseHeader(header);
  if (parsed === undefined) return report([{ verdict: 'fail', text: headerProblem(header) }]);
  const { timestamp, signatures } = parsed;
  const steps: SignatureStep[] = [
    { verdict: 'pass', text: `The header has a timestamp (t=${timestamp}) and ${countText(signatures.length)}.` },
    ageStep(timestamp, nowMs),
  ];
  const expected = await hmacHex(secret, `${timestamp}.${body}`);
  if (signatures.includes(expected)) {
    return report([...steps, { verdict: 'pass', text: 'The signature matches this body and this secret.' }]);
  }
  const why = await likelyCause({ secret, timestamp, signatures, body });
  return report([...steps, { verdict: 'fail', text: `The signature does not match. ${why}` }]);
}

function report(steps: readonly SignatureStep[]): SignatureReport {
  return { isValid: steps.every(({ verdict }) => verdict !== 'fail'), steps };
}

/** Parses a header. While a secret is being rotated, it has a signature with each secret. */
function parseHeader(
  header: string,
): { readonly timestamp: string; readonly signatures: readonly string[] } | undefined {
  const match = /^t=(\d{1,12})((?:,v1=[0-9a-f]{64})+)$/.exec(header.trim());
  const [, timestamp, signed] = match ?? [];
  return timestamp === undefined || signed === undefined
    ? undefined
    : { timestamp, signatures: signed.split(',v1=').slice(1) };
}

function countText(signatures: number): string {
  return signatures === 1 ? 'a signature (v1)' : `${signatures} signatures (v1), one with each secret`;
}

function headerProblem(header: string): string {
  const text = header.trim();
  if (text === '') return 'The header X-Service-Signature is missing.';
  if (/^[0-9a-f]{64}$/i.test(text)) {
    return 'This looks like X-Webhook-Signature, the older header without a timestamp. Check X-Service-Signature.';
  }
  if (text.startsWith('v1,'))
    return 'This looks like webhook-signature of Standard Webhooks. Check X-Service-Signature.';
  if (!/(^|,)t=\d+/.test(text)) return 'The header has no timestamp: it should read t=<seconds>,v1=<64 hex digits>.';
  return 'The header has no well-formed signature: it should read t=<seconds>,v1=<64 hex digits>.';
}

function ageStep(timestamp: string, nowMs: number): SignatureStep {
  const age = Math.round(nowMs / 1_000 - Number(timestamp));
  if (Math.abs(age) <= TOLERANCE_S) return { verdict: 'pass', text: `It was signed ${ageText(age)}, within 300 s.` };
  return {
    verdict: 'warn',
    text: `It was signed ${ageText(age)}: a receiver that gets it now refuses it, since 300 s are over. Was the receiver’s clock right when it came?`,
  };
}

function ageText(seconds: number): string {
  return seconds >= 0 ? `${seconds} s ago` : `${-seconds} s in the future`;
}

interface Mismatch {
  readonly secret: string;
  readonly timestamp: string;
  readonly signatures: readonly string[];
  readonly body: string;
}

/** Tries the usual mistakes one by one, and returns a text about the one that was made. */
async function likelyCause({ secret, timestamp, signatures, body }: Mismatch): Promise<string> {
  const matches = async (key: string | Uint8Array<ArrayBuffer>, message: string) =>
    signatures.includes(await hmacHex(key, message));
  const signed = (text: string) => `${timestamp}.${text}`;
  if (secret !== secret.trim() && (await matches(secret.trim(), signed(body)))) {
    return 'The secret has white space around it: without that it matches.';
  }
  const unprefixed = secret.replace(/^whsec_/, '');
  if (await matches(`whsec_${secret}`, signed(body)))
    return 'The secret lacks its prefix: the key is the whole text, whsec_ included.';
  if (await matches(unprefixed, signed(body)))
    return 'The signer left out the prefix of the secret: the key is the whole text, whsec_ included.';
  const decoded = decodedKey(unprefixed);
  if (decoded !== undefined && (await matches(decoded, signed(body)))) {
    return 'The signer decoded the secret: for this header the key is the text itself, as UTF-8.';
  }
  if (await matches(secret, body)) return 'The signer left out the timestamp. The signed text is <t>.<body>.';
  for (const { text, mistake } of otherBodies(body)) {
    if (await matches(secret, signed(text))) return mistake;
  }
  if (!secret.startsWith('whsec_')) return 'A secret begins with whsec_; this one does not.';
  return 'Either the secret is wrong (of another endpoint, or rotated since), or the body differs from the sent bytes.';
}

/** Returns the body as a program between sender and receiver may have changed it. */
function otherBodies(body: string): readonly { readonly text: string; readonly mistake: string }[] {
  const bodies = [
    { text: body.trim(), mistake: 'The body has extra white space around it.' },
    { text: `${body}\n`, mistake: 'The body lost a line break at its end.' },
  ];
  try {
    const mistake = 'The body was parsed and printed again. Verify the raw bytes, before anything parses them.';
    const value: unknown = JSON.parse(body);
    bodies.push({ text: JSON.stringify(value), mistake }, { text: JSON.stringify(value, null, 2), mistake });
  } catch {
    // A body that is not JSON was not re-serialized.
  }
  return bodies.filter(({ text }) => text !== body);
}

function decodedKey(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

async function hmacHex(key: string | Uint8Array<ArrayBuffer>, message: string): Promise<string> {
  const encoder = new TextEncoder();
  const bytes = typeof key === 'string' ? encoder.encode(key) : key;
  // WebCrypto takes no empty key; HMAC pads keys with zeros, so one zero is the same key.
  const raw = bytes.length === 0 ? new Uint8Array(1) : bytes;
  const hmacKey = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const digest = await crypto.subtle.sign('HMAC', hmacKey, encoder.encode(message));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
