import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { membersOf } from '../../../../test/support/group-members.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { startEmbeddedKafkaCluster, type EmbeddedKafkaCluster } from '../kafka/embedded-kafka-cluster.js';
import { forgetMembers } from './forget-members.js';
import { askKafka, RequestBody } from './kafka-request.js';

const JOIN_GROUP = { api: 11, version: 2 };
const SYNC_GROUP = { api: 14, version: 1 };
/** Longer than this spec takes: nobody is forgotten because of it. */
const SESSION_MS = 290_000;
const PATIENCE = { timeoutMs: 60_000, intervalMs: 100 };
const GROUPS = ['readers', 'other-readers', 'third-readers'];

let directory: string;
let cluster: EmbeddedKafkaCluster;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-forget-'));
  cluster = await startEmbeddedKafkaCluster({ dataDir: directory, nodes: 1, log: () => undefined });
});

afterAll(async () => {
  await cluster.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function countMembers(): Promise<readonly number[]> {
  const members = await Promise.all(GROUPS.map((group) => membersOf(cluster.brokers, group)));
  return members.map(({ length }) => length);
}

/** Joins a group as its only member, and is not heard of any more. It is answered within 3 s or not at all. */
async function joinOnce(group: string): Promise<void> {
  const port = Number(cluster.brokers.split(':')[1]);
  const protocols = new RequestBody().text(group).int32(SESSION_MS).int32(SESSION_MS).text('').text('test');
  const joined = await askKafka(port, { ...JOIN_GROUP, body: protocols.int32(1).text('any').int32(0) });
  joined.int32(); // throttle time
  expect(joined.int16()).toBe(0);
  const generation = joined.int32();
  joined.text(); // protocol
  joined.text(); // leader
  const member = joined.text();
  const assignment = new RequestBody().text(group).int32(generation).text(member).int32(1).text(member).int32(0);
  const synced = await askKafka(port, { ...SYNC_GROUP, body: assignment });
  synced.int32(); // throttle time
  expect(synced.int16()).toBe(0);
}

describe('members that were killed with their broker', () => {
  it('are none where there are no groups', async () => {
    expect(await forgetMembers({ brokers: cluster.brokers })).toBe(0);
  });

  it('are forgotten, so that their successors need not wait for their sessions to end', async () => {
    await eventually(countMembers, PATIENCE);
    for (const group of GROUPS) await eventually(() => joinOnce(group), PATIENCE);
    const [node] = cluster.nodes;
    await node!.kill();
    await node!.start();
    // The broker still knows them, once it has read what it wrote of its groups.
    await eventually(async () => {
      expect(await countMembers()).toEqual([1, 1, 1]);
    }, PATIENCE);

    expect(await forgetMembers({ brokers: cluster.brokers })).toBe(3);

    expect(await countMembers()).toEqual([0, 0, 0]);
    await joinOnce(GROUPS[0]!);
    expect(await countMembers()).toEqual([1, 0, 0]);
    expect(await forgetMembers({ brokers: cluster.brokers })).toBe(1);
  }, 240_000);
});
