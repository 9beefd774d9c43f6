import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import type { GaplessApp } from '#libs/platform';
import { Store } from '#libs/postgres';
import { databaseName } from '#libs/runtime';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import {
  aReplicatedPostgres,
  type ReplicatedPostgres,
  type Standby,
} from '../support/infrastructure/replicated-postgres.js';
import { scrape, valueOf } from '../support/scrape.js';
import { oneTo } from '../support/sequence.js';

const EVENTS = 120;

let servers: ReplicatedPostgres;
let standby: Standby;
let server: string;
let gapless: GaplessUnderTest;
let withReplica: GaplessApp;
let without: GaplessApp;
let orgId: OrgId;
let key: string;

beforeAll(async () => {
  servers = await aReplicatedPostgres();
  standby = await servers.addStandby();
  server = databaseName(standby.url);
  gapless = await aGapless({ DATABASE_URL: servers.primary.url, PROJECTION_DATABASE_URLS: '' });
  without = await gapless.startAll();
  withReplica = await gapless.startAll({ DATABASE_READ_URLS: standby.url, REPLICA_MAX_LAG: '5s' });
  orgId = anOrgId();
  key = await anApiKey(without.app.get(Store), orgId);
  await emit(EVENTS);
  await untilItServes();
});

afterAll(async () => {
  standby.freeze(false);
  await gapless.stop();
  await servers.stop();
});

async function emit(count: number): Promise<void> {
  const api = new ApiClient(without.url, key);
  const before = (await api.feed()).length;
  await api.emit(oneTo(count).map((n) => ({ event: 'ticket.created', data: { n, text: 'ä"\\' } })));
  await eventually(async () => {
    expect(await api.feed()).toHaveLength(before + count);
  });
}

async function readiness() {
  const response = await fetch(`${withReplica.url}/health/ready`);
  const { parts } = (await response.json()) as { parts: Record<string, unknown> };
  return { code: response.status, part: parts[`read replica ${server}`] };
}

async function untilItServes(): Promise<void> {
  await eventually(async () => {
    expect(await readiness()).toEqual({ code: 200, part: { status: 'ready' } });
    expect(valueOf(await scrape(withReplica.url), 'gapless_replica_up', { server })).toBe(1);
  });
}

async function untilLeftOut(): Promise<void> {
  await eventually(async () => {
    expect(await readiness()).toEqual({ code: 200, part: expect.objectContaining({ status: 'degraded' }) });
    expect(valueOf(await scrape(withReplica.url), 'gapless_replica_up', { server })).toBe(0);
  });
}

async function readsOf(outcome: string): Promise<number> {
  return valueOf(await scrape(withReplica.url), 'gapless_replica_reads_total', { server, outcome }) ?? 0;
}

async function answerOf(app: GaplessApp, query: string) {
  const { status, text, headers } = await new ApiClient(app.url, key).request('GET', `/external/events?${query}`);
  return { status, text, oldest: headers.get('x-oldest-sequence'), head: headers.get('x-head-sequence') };
}

async function expectSameAnswers(): Promise<void> {
  for (const query of [
    'since=0&limit=1',
    'limit=10',
    'since=40&limit=30',
    'since=40&limit=30&wait=5',
    'since=0&limit=1000',
    'since=0&limit=5&event=ticket.created',
    'until=50&limit=20&order=desc',
    'order=desc&limit=3',
  ]) {
    expect(await answerOf(withReplica, query)).toEqual(await answerOf(without, query));
  }
}

describe('the feed with a replica', () => {
  it('answers like the primary alone, and reads from the replica', async () => {
    // The replica has it all a moment later.
    await eventually(async () => {
      const before = await readsOf('served');
      await expectSameAnswers();
      expect((await readsOf('served')) - before).toBeGreaterThanOrEqual(4);
    });
    expect(valueOf(await scrape(without.url), 'gapless_replica_reads_total')).toBeUndefined();
  });

  it('shows what was just appended, although the replica does not have it yet', async () => {
    await standby.pauseReplay(true);
    try {
      await emit(3);
      await expectSameAnswers();
      const response = await fetch(`${withReplica.url}/api/v1/external/events?since=0`, {
        headers: { 'x-api-key': key, accept: 'text/event-stream' },
      });
      let text = '';
      const decoder = new TextDecoder();
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        text += decoder.decode(piece, { stream: true });
        if (text.includes(`id: ${EVENTS + 3}\n`)) break;
      }
      const seqs = [...text.matchAll(/^id: (\d+)\nevent: /gm)].map(([, seq]) => Number(seq));
      expect(seqs).toEqual(oneTo(EVENTS + 3));
    } finally {
      await standby.pauseReplay(false);
    }
    await untilItServes();
  });

  it('stays ready and answers while the replica is frozen, and uses it again later', async () => {
    standby.freeze(true);
    try {
      await expectSameAnswers();
      await untilLeftOut();
      await expectSameAnswers();
      expect(await readsOf('away')).toBeGreaterThan(0);
    } finally {
      standby.freeze(false);
    }
    await untilItServes();
    const served = await readsOf('served');
    await expectSameAnswers();
    expect(await readsOf('served')).toBeGreaterThan(served);
  });

  it('stays ready and answers after the replica was promoted', async () => {
    await standby.promote();
    await untilLeftOut();
    await emit(2);
    await expectSameAnswers();
  });
});
