import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { CloudEvent, Kafka } from 'cloudevents';
import {
  catalogEntry,
  elementSlices,
  EVENT_TYPES,
  isIngestable,
  isOperational,
  memberSlices,
  systemClock,
  type OrgId,
} from '#libs/domain';
import { Store } from '#libs/postgres';
import { partitionOf } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { tailCommand } from '../../apps/cli/src/commands/tail.command.js';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { PARTITIONS } from '../support/environment.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId, aWidgetId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readTopic, type TopicRecord } from '../support/log-reader.js';
import { itUnless, LACKS, ROOT, runJava, runProgram } from '../support/outside-clients.js';
import { aReceiver, type Receiver } from '../support/receiver.js';

/** Payloads that come out changed as soon as anybody parses and prints them. */
const PAYLOADS = [
  '{"n": 1.0}',
  '{"big":123456789012345678901234567890,"zeta":1,"alpha":2}',
  '{ "spaced" : [ 1 ,\n\t2 ] ,\r\n "empty" : { } }',
  '{"text":"Grüße, 漢字, 👩‍👩‍👧, \u2028\u2029","escaped":"\\u00fc\\/\\ud83d\\ude00"}',
];

let gapless: GaplessUnderTest;
let app: GaplessApp;
let receiver: Receiver;
let topic: string;
let brokers: string;
/** An org with an event of every type, and one with a few tickets. */
let rich: OrgId;
let small: OrgId;
/** The envelopes as the feed serves them, by org. */
let feeds: ReadonlyMap<OrgId, readonly string[]>;
let records: readonly TopicRecord[];

beforeAll(async () => {
  gapless = await aGapless();
  app = await gapless.startAll();
  receiver = await aReceiver();
  brokers = gapless.environment['KAFKA_BROKERS']!;
  topic = `${gapless.environment['TOPIC_PREFIX']!}.log.v1`;
  [rich, small] = [anOrgId(), anOrgId()];
  const [ofRich, ofSmall] = await Promise.all([apiOf(rich), apiOf(small)]);
  const widgetId = aWidgetId();
  const examples = EVENT_TYPES.filter(isIngestable).map((event) => {
    const { scope, example } = catalogEntry(event);
    return JSON.stringify({ event, widget_id: scope === 'widget' ? widgetId : null, data: example });
  });
  const tricky = PAYLOADS.map((data) => `{"event":"ticket.created","data":${data}}`);
  await ofRich.emitText(`{"events":[${[...examples, ...tricky].join(',')}]}`);
  const { id } = await ofRich.createWebhook({ url: receiver.url, events: ['lead.created'] });
  expect((await ofRich.request('POST', `/external/webhooks/${id}/test`)).status).toBe(202);
  for (const event of ['ticket.created', 'ticket.updated', 'ticket.created']) {
    await ofSmall.emit([{ event, data: {} }]);
  }
  feeds = new Map([
    [rich, await feedOf(ofRich, examples.length + tricky.length + 1)],
    [small, await feedOf(ofSmall, 3)],
  ]);
  records = await readTopic(brokers, topic);
});

afterAll(async () => {
  await gapless.stop();
  await receiver.close();
});

async function apiOf(orgId: OrgId): Promise<ApiClient> {
  return new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
}

async function feedOf(api: ApiClient, count: number): Promise<readonly string[]> {
  return eventually(async () => {
    const text = await api.feedText('since=0&limit=1000');
    const envelopes = elementSlices(memberSlices(text).get('data') ?? '[]');
    expect(envelopes).toHaveLength(count);
    return envelopes;
  });
}

/** The values of each key, in their order. */
function byKey(
  found: readonly { readonly key: string; readonly value: string }[],
): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const { key, value } of found) values.set(key, [...(values.get(key) ?? []), value]);
  return values;
}

describe('the log, read from outside', () => {
  it('holds the bytes that the feed serves, all of an org in the partition of its key', () => {
    expect(byKey(records.map(({ key, value }) => ({ key, value: value.toString() })))).toEqual(feeds);
    for (const { key, partition } of records) expect(partition).toBe(partitionOf(key, PARTITIONS));
  });

  itUnless(LACKS.kcat, 'by kcat, is the same bytes', async () => {
    const format = '%k %S\\n%s\\n';
    const output = await runProgram('kcat', [
      '-b',
      brokers,
      '-t',
      topic,
      '-C',
      '-q',
      '-e',
      '-o',
      'beginning',
      '-f',
      format,
    ]);
    const found: { key: string; value: string }[] = [];
    for (let at = 0; at < output.length;) {
      const lineEnd = output.indexOf('\n', at);
      const [key = '', length] = output.subarray(at, lineEnd).toString().split(' ');
      const end = lineEnd + 1 + Number(length);
      found.push({ key, value: output.subarray(lineEnd + 1, end).toString() });
      at = end + 1;
    }
    expect(byKey(found)).toEqual(feeds);
  });

  itUnless(LACKS.kafkaTools, "by Kafka's own console consumer, is the same bytes", async () => {
    const settings = { 'print.key': 'true', 'key.separator': '<key|value>', 'line.separator': '<end of record>' };
    const output = await runJava('org.apache.kafka.tools.consumer.ConsoleConsumer', [
      ...['--bootstrap-server', brokers, '--topic', topic, '--from-beginning'],
      ...['--max-messages', String(records.length), '--timeout-ms', '20000'],
      ...Object.entries(settings).flatMap(([name, value]) => ['--formatter-property', `${name}=${value}`]),
    ]);
    const found = output
      .toString()
      .split('<end of record>')
      .slice(0, -1)
      .map((text) => {
        const [key = '', value = ''] = text.split('<key|value>');
        return { key, value };
      });
    expect(byKey(found)).toEqual(feeds);
  });

  it('is CloudEvents 1.0 in binary mode, to the library of CloudEvents', () => {
    for (const { key, value, headers } of records) {
      const text = value.toString();
      // The library's type wants a body, which is HTTP's word for the value.
      const message = { key, value: text, body: text, headers };
      expect(Kafka.isEvent(message)).toBe(true);
      const event = Kafka.toEvent(message) as CloudEvent<unknown>;
      const envelope = JSON.parse(text) as Readonly<Record<string, unknown>>;
      // The constructor checks the event against the whole specification.
      expect(() => new CloudEvent(event.toJSON())).not.toThrow();
      expect(event.toJSON()).toMatchObject({
        specversion: '1.0',
        id: envelope['id'],
        type: envelope['event'],
        source: `/orgs/${key}`,
        time: envelope['occurred_at'],
        datacontenttype: 'application/json',
        data: envelope,
      });
    }
  });

  it('is as schemas/ and /asyncapi.json say, every type that is emitted', async () => {
    const described = await (await fetch(`${app.url}/asyncapi.json`)).text();
    expect(described).toBe(readFileSync(join(ROOT, 'docs/asyncapi.json'), 'utf8'));
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(JSON.parse(described) as object, 'asyncapi');
    const files = readdirSync(join(ROOT, 'schemas'));
    for (const name of files) {
      ajv.addSchema(JSON.parse(readFileSync(join(ROOT, 'schemas', name), 'utf8')) as object, name);
    }
    for (const { value, headers } of records) {
      const type = headers['ce_type']!;
      const message = `asyncapi#/components/messages/${type}`;
      const envelope = JSON.parse(value.toString()) as object;
      for (const [schema, data] of [
        [`${type}.json`, envelope],
        [`${message}/payload`, envelope],
        [`${message}/headers`, headers],
      ] as const) {
        expect([schema, ajv.validate({ $ref: schema }, data), ajv.errors]).toEqual([schema, true, null]);
      }
    }
    const emitted = new Set(records.map(({ headers }) => `${headers['ce_type']!}.json`));
    // Only Gapless raises these.
    const operational = EVENT_TYPES.filter(isOperational).map((event) => `${event}.json`);
    expect([...emitted, ...operational, 'envelope.json'].toSorted()).toEqual(files.toSorted());
  });
});

describe('gapless tail', () => {
  /** How many lines somebody reads. */
  let reads = Infinity;

  /** Runs it as the command line does. @returns what it printed, line by line */
  function tailing(...args: readonly string[]) {
    const printed: string[] = [];
    const interruption = new AbortController();
    const unread = new AbortController();
    const command = tailCommand(
      {
        clock: systemClock,
        withStore: (act) => act(app.app.get(Store)),
        print: (line) => {
          printed.push(line);
          if (printed.length === reads) unread.abort();
        },
        colours: 'never',
        isOutputTerminal: false,
        unread: unread.signal,
        interruption: () => interruption.signal,
      },
      gapless.environment,
    );
    const ended = command.exitOverride().parseAsync(args, { from: 'user' });
    return {
      printed,
      ended,
      interrupt: () => {
        interruption.abort();
      },
    };
  }
  async function tail(...args: readonly string[]): Promise<readonly string[]> {
    const { printed, ended } = tailing('--no-follow', ...args);
    await ended;
    return printed;
  }
  const seqs = (lines: readonly string[]) => lines.map((line) => /#\d+ {2}\S+/.exec(line)?.[0]);

  it('prints the events of all orgs, each org in the order of its seqs', async () => {
    const lines = await tail('--from', '1h', '--json');
    const found = lines.map((value) => ({ key: (JSON.parse(value) as { org_id: string }).org_id, value }));
    expect(byKey(found)).toEqual(feeds);
  });

  it('ends when nobody reads what it prints', async () => {
    reads = 2;
    const lines = await tail('--from', '1h');
    reads = Infinity;
    expect(lines).toHaveLength(2);
  });

  it('prints those of one org, from a seq on', async () => {
    expect(seqs(await tail('--org', small, '--from', '2'))).toEqual(['#2  ticket.updated', '#3  ticket.created']);
    expect(seqs(await tail('--org', small, '--from', '0'))).toHaveLength(3);
    expect(await tail('--org', small, '--from', '4')).toEqual([]);
    expect(await tail('--org', anOrgId(), '--from', '0')).toEqual([]);
  });

  it('prints those of one type', async () => {
    const lines = await tail('--org', small, '--from', '1h', '--event', 'ticket.created');
    expect(seqs(lines)).toEqual(['#1  ticket.created', '#3  ticket.created']);
    expect(await tail('--from', '1h', '--event', 'fraud.flagged')).toHaveLength(1);
  });

  it('begins at a time, by when events were appended', async () => {
    const [, second] = (await tail('--org', small, '--from', '1')).map((line) => line.split('  ')[0]!);
    expect(await tail('--org', small, '--from', second!)).not.toHaveLength(0);
    expect(seqs(await tail('--org', small, '--from', second!))).toContain('#2  ticket.updated');
    expect(await tail('--from', new Date(Date.now() + 60_000).toISOString())).toEqual([]);
  });

  it('follows what comes next, until it is interrupted', async () => {
    const org = anOrgId();
    const api = await apiOf(org);
    const { printed, ended, interrupt } = tailing('--org', org);
    await eventually(() => {
      expect(printed).toHaveLength(1);
    });
    await eventually(async () => {
      await api.emit([{ event: 'ticket.reply', data: {} }]);
      expect(printed.length).toBeGreaterThan(1);
    });
    interrupt();
    await ended;
    expect(printed[0]).toBe(`Events of ${org}; press Ctrl-C to exit:`);
    expect(printed[1]).toContain(`${org}  #1  ticket.reply`);
  });

  it('asks for what it needs', async () => {
    await expect(tail('--from', '7')).rejects.toThrow('--from with a seq needs --org');
    const elsewhere = { ...gapless.environment, TOPIC_PREFIX: 'nobodys' };
    const context = {
      clock: systemClock,
      print: () => undefined,
      colours: 'never',
      isOutputTerminal: false,
      unread: new AbortController().signal,
      interruption: () => AbortSignal.abort(),
    } as const;
    const run = (environment: Readonly<Record<string, string>>) =>
      tailCommand({ ...context, withStore: () => Promise.reject(new Error('not asked')) }, environment).parseAsync([], {
        from: 'user',
      });
    await expect(run(elsewhere)).rejects.toThrow(/there is no topic nobodys\.log\.v1 at .*TOPIC_PREFIX/);
    await expect(run({ KAFKA_BROKERS: '127.0.0.1:1' })).rejects.toThrow(
      /Kafka does not answer at 127.0.0.1:1 .*npm start/,
    );
  });
});
