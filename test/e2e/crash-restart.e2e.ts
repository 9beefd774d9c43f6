import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { STAGE_NAMES, STAGES } from '#libs/runtime';
import { GaplessProcess } from '../bench/system/gapless-process.js';
import { ApiClient, type Webhook } from '../support/api-client.js';
import { anEnvironment } from '../support/environment.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { membersOf } from '../support/group-members.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { oneTo } from '../support/sequence.js';

const EVENTS = 40;
const PATIENCE = { intervalMs: 100 };

let dataDir: string;
let environment: Readonly<Record<string, string>>;
let receiver: Receiver;
let gapless: GaplessProcess;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-crash-'));
  // The attempts that fail before the crash are made again a moment later.
  environment = { ...anEnvironment(), RETRY_SCHEDULE: '1s,1s,1s' };
  receiver = await aReceiver();
  gapless = await GaplessProcess.start({ dataDir, environment }, new AbortController().signal);
});

afterEach(async () => {
  await gapless.stop();
  await receiver.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function anApi(): ApiClient {
  return new ApiClient(gapless.credentials.base_url, gapless.credentials.api_key);
}

async function restart(): Promise<void> {
  await gapless.crash();
  gapless = await GaplessProcess.start({ dataDir, environment }, new AbortController().signal);
}

/** Of all groups that its stages read in. */
async function members(): Promise<readonly string[]> {
  const groups = STAGE_NAMES.flatMap((stage) => Object.keys(STAGES[stage].consumers));
  const found = await Promise.all(
    groups.map((group) => membersOf(gapless.credentials.kafka_brokers, `gapless-${group}`)),
  );
  return found.flat();
}

describe('a Gapless that is killed with its Kafka and its Postgres, and started again', () => {
  it('forgets the members of its groups that are dead, and pushes all that was pending', async () => {
    const isAnswered = (n: number) => n % 2 === 0;
    receiver.answer = (_request, response, { headers }) => {
      if (isAnswered(Number(headers['x-service-sequence']))) response.writeHead(200).end();
    };
    const webhook = await anApi().createWebhook({ url: receiver.url, events: ['ticket.created'] });
    await anApi().emit(oneTo(EVENTS).map(() => ({ event: 'ticket.created', data: {} })));
    await eventually(() => {
      expect(receiver.received.length).toBeGreaterThan(EVENTS / 2);
    }, PATIENCE);
    // These are acknowledged, and perhaps nobody has seen them.
    await anApi().emit(oneTo(EVENTS).map(() => ({ event: 'ticket.created', data: {} })));
    receiver.answer = (_request, response) => response.writeHead(200).end();

    const dead = await members();

    await restart();

    expect((await members()).filter((member) => dead.includes(member))).toEqual([]);
    // A group that is just being joined shows fewer.
    await eventually(async () => {
      expect(await members()).toHaveLength(dead.length);
    }, PATIENCE);
    await eventually(async () => {
      const { health } = (await anApi().webhook(webhook.id)) as Webhook & { health: Record<string, number> };
      expect(health).toMatchObject({ pending: 0, delivered_24h: 2 * EVENTS });
    }, PATIENCE);
    const pushed = new Set(receiver.received.map(({ headers }) => Number(headers['x-service-sequence'])));
    expect([...pushed].toSorted((a, b) => a - b)).toEqual(oneTo(2 * EVENTS));
    await eventually(async () => {
      expect((await anApi().feed()).map(({ seq }) => seq)).toEqual(oneTo(2 * EVENTS));
    }, PATIENCE);
    expect((await fetch(`${gapless.credentials.base_url}/health/ready`)).status).toBe(200);
  });
});
