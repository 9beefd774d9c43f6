import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import { AlertingModule } from '../../apps/alerting/src/alerting.module.js';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { type OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { partitionOf } from '#libs/kafka-log';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { PARTITIONS } from '../support/environment.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { hostileRecords, type HostileRecord } from '../support/hostile-records.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readTopic } from '../support/log-reader.js';
import { itUnless, LACKS, runPython } from '../support/outside-clients.js';
import { PACKINGS } from '../support/packings.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { aStageProcess, type StageProcess } from '../support/stage-process.js';
import { API_HTTP } from '../support/stages.js';

const STAGES = ['sequencer', 'dispatcher', 'projector'];

let gapless: GaplessUnderTest;
let receiver: Receiver;
let processes: StageProcess[];
let folder: string;

beforeEach(async () => {
  gapless = await aGapless();
  receiver = await aReceiver();
  processes = [];
  folder = await mkdtemp(join(tmpdir(), 'gapless-poison-'));
});

afterEach(async () => {
  await Promise.all(processes.map((one) => one.stop()));
  await gapless.stop();
  await receiver.close();
  await rm(folder, { recursive: true, force: true });
});

/** Those that librdkafka can write: one record each, and none of hundreds of megabytes. */
function written(orgId: OrgId): readonly HostileRecord[] {
  return hostileRecords(orgId, Date.now()).filter(
    ({ name, fate }) => fate !== 'refused' && !name.includes('in a batch'),
  );
}

function lineOf({ name, records, packing }: HostileRecord): string {
  const [record] = records();
  const base64 = (bytes: Buffer | null | undefined) => bytes?.toString('base64') ?? null;
  return JSON.stringify({
    name,
    packing: Object.entries(PACKINGS).find(([, one]) => one === packing)?.[0] ?? 'none',
    key: base64(record?.key),
    value: base64(record?.value),
    headers: (record?.headers ?? []).map(([header, value]) => [header, base64(value)]),
  });
}

describe('records by librdkafka, for one process a stage', () => {
  itUnless(LACKS.librdkafka, 'stop nothing, and are events or dead letters', async () => {
    const topic = (role: string) => `${gapless.environment['TOPIC_PREFIX']!}.${role}.v1`;
    const { app, url } = await gapless.start([ApiModule, AlertingModule], { http: API_HTTP });
    processes = await Promise.all(STAGES.map((stage) => aStageProcess(stage, gapless.environment)));
    await Promise.all(processes.map((one) => one.ready()));
    const orgId = anOrgId();
    const api = new ApiClient(url, await anApiKey(app.get(Store), orgId));
    await api.createWebhook({ url: receiver.url, events: ['ticket.created', 'conversation.handed_off'] });
    const pushed = () => receiver.received.map(({ headers }) => headers['x-service-event-id']);

    const table = written(orgId);
    const partition = partitionOf(orgId, PARTITIONS);
    const file = join(folder, 'records.jsonl');
    await writeFile(file, table.map((record) => `${lineOf(record)}\n`).join(''));
    const output = await runPython('test/support/librdkafka/produce.py', [
      gapless.environment['KAFKA_BROKERS']!,
      topic('inbox'),
      String(partition),
      file,
    ]);
    const answers = new Map(
      output
        .toString()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { readonly name: string; readonly offset?: number; readonly error?: string })
        .map((answer) => [answer.name, answer]),
    );
    expect([...answers.values()].filter(({ error }) => error !== undefined)).toEqual([]);
    expect(answers.size).toBe(table.length);

    // `npm run test:hostile` measures that it goes on in less than 5 s.
    const [last] = await api.emit([{ event: 'ticket.created', data: {} }]);
    await eventually(() => {
      expect(pushed()).toContain(last);
    });
    const events = table.filter(({ fate }) => fate === 'event').flatMap(({ ids }) => ids);
    await eventually(() => {
      expect(pushed()).toEqual(expect.arrayContaining(events));
    });
    const dead = await readTopic(gapless.environment['KAFKA_BROKERS']!, topic('dead-letter'));
    const codes = new Map(dead.map(({ headers }) => [headers['x-origin'], headers['x-error-code']]));
    for (const { name, fate } of table) {
      if (typeof fate !== 'object') continue;
      const code = codes.get(`${topic('inbox')}/${partition}/${answers.get(name)?.offset}`);
      expect([name, code]).toEqual([name, fate.code]);
    }
    const seqs = (await api.feed()).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    for (const one of processes) expect((await fetch(`${one.url}/health/ready`)).status).toBe(200);
  });
});
