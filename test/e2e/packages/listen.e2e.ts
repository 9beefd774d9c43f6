import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GaplessApp } from '#libs/platform';
import { Store } from '#libs/postgres';
import { verifySignature } from '#libs/webhook-signature';
import { ApiClient } from '../../support/api-client.js';
import { anApiKey } from '../../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../support/gapless.js';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../../support/receiver.js';
import { drawsFrom, oneTo } from '../../support/sequence.js';

const MAIN = resolve(import.meta.dirname, '../../../dist/libs/cli/src/gapless.js');
const SECRET = 'whsec_c2VjcmV0';
const KILLS = 5;
const EVENTS_PER_LIFE = 60;

let gapless: GaplessUnderTest;
let app: GaplessApp;
let home: string;
let receiver: Receiver;
let running: ChildProcess | undefined;

beforeAll(async () => {
  gapless = await aGapless();
  app = await gapless.startAll();
  home = mkdtempSync(join(tmpdir(), 'gapless-home-'));
  receiver = await aReceiver();
});

afterAll(async () => {
  running?.kill('SIGKILL');
  await receiver.close();
  rmSync(home, { recursive: true, force: true });
  await gapless.stop();
});

function listen(apiKey: string): ChildProcess {
  const { PATH = '' } = process.env;
  const args = ['listen', '--forward-to', receiver.url, '--secret', SECRET];
  running = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH, HOME: home, GAPLESS_URL: app.url, GAPLESS_API_KEY: apiKey },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return running;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const ended = once(child, 'exit');
  child.kill(signal);
  const [code] = (await ended) as [number | null];
  return code;
}

describe('gapless listen', () => {
  it(`forwards every event in order, killed ${KILLS} times, each time with another API key`, async () => {
    const orgId = anOrgId();
    const apiKey = await anApiKey(app.app.get(Store), orgId);
    const api = new ApiClient(app.url, apiKey);
    const draw = drawsFrom(20_261_124);
    const seqs = () => receiver.received.map(({ headers }) => Number(headers['x-service-sequence']));

    let child = listen(apiKey);
    let printed = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    await eventually(() => {
      expect(printed).toContain('Waiting for events after #0.');
    });
    await api.emit([{ event: 'ticket.created', data: {} }]);
    await eventually(() => {
      expect(seqs()).toEqual([1]);
    });
    for (const life of oneTo(KILLS)) {
      await api.emit(oneTo(EVENTS_PER_LIFE).map((n) => ({ event: 'ticket.updated', data: { n } })));
      const until = 1 + (life - 1) * EVENTS_PER_LIFE + draw(EVENTS_PER_LIFE);
      await eventually(() => {
        expect(Math.max(...seqs())).toBeGreaterThanOrEqual(until);
      });
      await end(child, 'SIGKILL');
      child = listen(await anApiKey(app.app.get(Store), orgId, ['events:read']));
    }
    const count = 1 + KILLS * EVENTS_PER_LIFE;
    await eventually(() => {
      expect(Math.max(...seqs())).toBe(count);
    });
    // The last one may have had nothing to forward. From its first line on, it ends in order.
    await once(child.stderr!, 'data');
    expect(await end(child, 'SIGTERM')).toBe(0);

    // An event may come again after a kill, but only the one that was under way.
    const first = [...new Set(seqs())];
    expect(first).toEqual(oneTo(count));
    expect(seqs().length - count).toBeLessThanOrEqual(KILLS);
    const bodies = new Map((await feedTexts(api)).map((body, index) => [index + 1, body]));
    for (const { headers, body } of receiver.received) {
      const header = headers['x-service-signature'] as string;
      expect(verifySignature({ body, header, secret: SECRET })).toMatchObject({ valid: true });
      expect(body.toString()).toBe(bodies.get(Number(headers['x-service-sequence'])));
    }
  });
});

/** The envelopes as the feed serves them. Those of this test have no line breaks and no `},{"id"` in their data. */
async function feedTexts(api: ApiClient): Promise<readonly string[]> {
  const text = await api.feedText('since=0&limit=1000');
  const list = text.slice('{"data":['.length, text.lastIndexOf('],"next_seq"'));
  return list.split(/,(?=\{"id":"evt_)/);
}
