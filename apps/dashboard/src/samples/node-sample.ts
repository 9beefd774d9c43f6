import type { SampleParts } from './sample-parts.js';

/** Returns a receiver in Node.js that needs no packages. */
export function nodeSample({ path, about, hasBatches }: SampleParts): string {
  return String.raw`// ${about}
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const SECRET = process.env.GAPLESS_SECRET;
const TOLERANCE_SECONDS = 300;
const MAX_BYTES = 1024 * 1024;

// Everyone can sign with an empty secret.
if (!SECRET) {
  console.error('Set GAPLESS_SECRET to the secret of the endpoint.');
  process.exit(1);
}

/** Whether the raw body was signed with our secret, not long ago. */
function isGenuine(header, body) {
  const match = /^t=(\d+)((?:,v1=[0-9a-f]{64})+)$/.exec(header ?? '');
  if (match === null) return false;
  const [, timestamp, signatures] = match;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const expected = createHmac('sha256', SECRET).update(timestamp + '.').update(body).digest();
  // While a secret is replaced, there are two signatures: one has to match.
  return signatures.split(',v1=').slice(1).some((hex) => timingSafeEqual(expected, Buffer.from(hex, 'hex')));
}

createServer((request, response) => {
  const chunks = [];
  let bytes = 0;
  request.on('data', (chunk) => {
    bytes += chunk.length;
    if (bytes <= MAX_BYTES) chunks.push(chunk);
    else if (!response.headersSent) response.writeHead(413, { Connection: 'close' }).end();
  });
  request.on('end', () => {
    if (response.headersSent) return;
    if (request.method !== 'POST' || request.url !== ${quoted(path)}) return response.writeHead(404).end();
    // The bytes as they came: parsed and printed again they would be others.
    const body = Buffer.concat(chunks);
    if (!isGenuine(request.headers['x-service-signature'], body)) return response.writeHead(401).end();
${hasBatches ? LIST : ONE}
    response.writeHead(204).end();
  });
}).listen(Number(process.env.PORT ?? 8080));
`;
}

const ONE = `    const event = JSON.parse(body);
    // The same event can come more than once: remember event.id, and answer before the real work.
    console.log(event.seq, event.event, event.id);`;

const LIST = `    for (const event of JSON.parse(body).events) {
      // The same event can come more than once: remember event.id, and answer before the real work.
      console.log(event.seq, event.event, event.id);
    }`;

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, String.raw`\$&`)}'`;
}
