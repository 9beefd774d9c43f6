import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Store } from '#libs/postgres';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import {
  compileJava,
  itUnless,
  LACKS,
  ROOT,
  runGo,
  runJava,
  runProgram,
  runPython,
} from '../support/outside-clients.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import type { SignatureVector } from '../vectors/signature-vectors.js';

/** Payloads that come out changed as soon as anybody parses and prints them. */
const PAYLOADS = [
  '{"n": 1.0}',
  '{"text":"Grüße, 漢字, 👩‍👩‍👧","escaped":"\\u00fc\\/\\ud83d\\ude00"}',
  '{ "spaced" : [ 1 ,\n\t2 ] }',
];
const COMMITTED = join(ROOT, 'test/vectors/signatures.json');

let gapless: GaplessUnderTest;
let receiver: Receiver;
let secret: string;
/** The vectors, and real pushes as vectors, good ones and ones that were tampered with. */
let vectors: readonly SignatureVector[];
let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-recipes-'));
  gapless = await aGapless();
  const app = await gapless.startAll();
  const api = new ApiClient(app.url, await anApiKey(app.app.get(Store), anOrgId()));
  receiver = await aReceiver();
  ({ secret } = await api.createWebhook({ url: receiver.url, events: ['ticket.created'] }));
  await api.emitText(`{"events":[${PAYLOADS.map((data) => `{"event":"ticket.created","data":${data}}`).join(',')}]}`);
  await eventually(() => {
    expect(receiver.received).toHaveLength(PAYLOADS.length);
  });
  const { vectors: committed } = JSON.parse(readFileSync(COMMITTED, 'utf8')) as { vectors: SignatureVector[] };
  vectors = [...committed, ...receiver.received.flatMap(pushVectors)];
  writeFileSync(join(directory, 'vectors.json'), JSON.stringify({ vectors }));
});

afterAll(async () => {
  await gapless.stop();
  await receiver.close();
  rmSync(directory, { recursive: true });
});

function pushVectors({ headers, body, atMs }: Receiver['received'][number], index: number): readonly SignatureVector[] {
  const push = {
    secret,
    header: String(headers['x-service-signature']),
    body_base64: body.toString('base64'),
    now: Math.floor(atMs / 1_000),
  };
  const spoiled = Buffer.concat([body, Buffer.from(' ')]).toString('base64');
  return [
    { ...push, name: `push ${index}`, expected: 'valid' },
    { ...push, name: `push ${index}, spoiled`, body_base64: spoiled, expected: 'mismatch' },
    { ...push, name: `push ${index}, an hour later`, now: push.now + 3_600, expected: 'expired' },
  ];
}

/** By the name of the vector, so that a difference shows which one it is. */
function verdicts(output: Buffer): readonly string[] {
  const lines = output.toString().trimEnd().split('\n');
  return vectors.map(({ name }, index) => `${name}: ${lines[index] ?? 'nothing'}`);
}
const expected = (): readonly string[] => vectors.map(({ name, expected }) => `${name}: ${expected}`);
const vectorsFile = (): string => join(directory, 'vectors.json');

describe('the recipe says of each vector, and of real pushes, what it has to:', () => {
  it('Node', async () => {
    const output = await runProgram(process.execPath, [join(ROOT, 'test/recipes/run-vectors.mjs'), vectorsFile()]);
    expect(verdicts(output)).toEqual(expected());
  });

  itUnless(LACKS.python, 'Python', async () => {
    expect(verdicts(await runPython('test/recipes/run_vectors.py', [vectorsFile()]))).toEqual(expected());
  });

  itUnless(LACKS.go, 'Go', async () => {
    const output = await runGo(join(ROOT, 'test/recipes/go/vectors'), join(directory, 'vectors'), [vectorsFile()]);
    expect(verdicts(output)).toEqual(expected());
  });

  itUnless(LACKS.java, 'Java', async () => {
    const sources = ['docs/recipes/java/SignatureVerifier.java', 'test/recipes/RunVectors.java'];
    const classes = join(directory, 'classes');
    await compileJava(sources, classes);
    expect(verdicts(await runJava('RunVectors', [vectorsFile()], classes))).toEqual(expected());
  });

  itUnless(LACKS.php, 'PHP', async () => {
    const output = await runProgram('php', [join(ROOT, 'test/recipes/run_vectors.php'), vectorsFile()]);
    expect(verdicts(output)).toEqual(expected());
  });

  itUnless(LACKS.ruby, 'Ruby', async () => {
    const output = await runProgram('ruby', [join(ROOT, 'test/recipes/run_vectors.rb'), vectorsFile()]);
    expect(verdicts(output)).toEqual(expected());
  });
});

/** That of npm is in push-and-pull.e2e.ts. */
describe('the Standard Webhooks library takes real pushes, and none that was tampered with:', () => {
  const pushesFile = (): string => {
    const pushes = receiver.received.flatMap(({ headers, body }) => {
      const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
      const push = { secret, headers: Object.fromEntries(names.map((name) => [name, headers[name]])) };
      return [body, Buffer.concat([body, Buffer.from(' ')])].map((bytes) => ({
        ...push,
        body_base64: bytes.toString('base64'),
      }));
    });
    const path = join(directory, 'pushes.json');
    writeFileSync(path, JSON.stringify(pushes));
    return path;
  };
  const words = (output: Buffer) =>
    output
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => line.split(':')[0]);
  const taken = PAYLOADS.flatMap(() => ['valid', 'refused']);

  itUnless(LACKS.pythonStandardWebhooks, 'Python', async () => {
    expect(words(await runPython('test/recipes/standard_webhooks.py', [pushesFile()]))).toEqual(taken);
  });

  itUnless(LACKS.go, 'Go', async () => {
    const directoryOfMain = join(ROOT, 'test/recipes/go/standardwebhooks');
    expect(words(await runGo(directoryOfMain, join(directory, 'standardwebhooks'), [pushesFile()]))).toEqual(taken);
  });
});
