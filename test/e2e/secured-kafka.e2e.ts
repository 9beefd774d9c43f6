import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { Store } from '#libs/postgres';
import { HealthBoard, STAGE_NAMES, type Environment, type PartHealth } from '#libs/runtime';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { conversationData } from '../support/conversations.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { compileJava, itUnless, LACKS, ROOT, runJava, runProgram } from '../support/outside-clients.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { aSecuredKafka, type SecuredKafka } from '../support/secured-kafka.js';
import { API_HTTP, STAGE_MODULES } from '../support/stages.js';
import { makePlainTopics } from '../support/topics.js';
import { outsideClientPaths } from '../../scripts/outside-clients.mjs';

const USERS = [...STAGE_NAMES, 'cli', 'service'].map((name) => `gapless-${name}`);
const ROLES = [
  'installation',
  'inbox',
  'log',
  'sequences',
  'attempts',
  'attempts-slow',
  'deliveries',
  'staff-alerts',
  'dead-letter',
] as const;
/** The topics that each user may write to: none that its stage does not write. */
const MAY_WRITE: Readonly<Record<string, readonly (typeof ROLES)[number][]>> = {
  api: ['installation', 'inbox', 'attempts', 'deliveries'],
  sequencer: ['log', 'sequences', 'dead-letter'],
  dispatcher: ['attempts', 'attempts-slow', 'deliveries', 'dead-letter'],
  projector: ['dead-letter'],
  alerting: ['inbox', 'staff-alerts'],
  cli: [],
  service: ['inbox'],
};

const lack = LACKS.kafkaTools ?? LACKS.java;
let kafka: SecuredKafka | undefined;
let gapless: GaplessUnderTest | undefined;
let receiver: Receiver | undefined;
let tokens: Server | undefined;

/** Returns the settings by which a stage connects as its own user. */
function signIn(name: string, sasl = 'scram-sha-512'): Environment {
  return { KAFKA_SASL: sasl, KAFKA_USERNAME: `gapless-${name}`, KAFKA_PASSWORD: `gapless-${name}` };
}

/** Returns the settings by which a stage connects with a certificate, without a password. */
function identify(name: string): Environment {
  const { brokers } = kafka!.certified;
  const { keyFile, certFile } = kafka!.certified.identity(`gapless-${name}`);
  return { KAFKA_BROKERS: brokers, KAFKA_CERT_FILE: certFile, KAFKA_KEY_FILE: keyFile };
}

/** Runs `docker/kafka/acls.sh`; a single JVM runs Kafka's tool with the arguments of each call. */
async function runAcls(): Promise<void> {
  const { kafkaTools } = outsideClientPaths(ROOT);
  const script = ['docker/kafka/acls.sh', '--command-config', kafka!.adminProperties];
  const env = { ...process.env, BROKERS: kafka!.brokers, KAFKA_ACLS: 'echo' };
  const calls = (await runProgram('sh', script, { cwd: ROOT, env })).toString().trim().split('\n');
  const classes = mkdtempSync(join(tmpdir(), 'gapless-acls-'));
  try {
    await compileJava(['test/support/RunAcls.java'], classes, kafkaTools);
    await runJava('RunAcls', calls, `${classes}:${kafkaTools}`);
  } finally {
    rmSync(classes, { recursive: true });
  }
}

/** Starts a stage that cannot reach Kafka. Expects that it tries again instead of giving up. */
async function expectWaiting(name: 'api' | 'alerting', env: Environment): Promise<void> {
  const ended = new AbortController();
  const failures = new Set<PartHealth>();
  const health = new HealthBoard(({ kafka: part }) => {
    if (part?.status === 'waiting' && part.reason !== 'connecting') failures.add(part);
  });
  const http = name === 'api' ? { http: API_HTTP } : {};
  const started = gapless!.start([STAGE_MODULES[name]], { ...http, env, health, signal: ended.signal });
  const waits = eventually(() => {
    expect(failures.size).toBeGreaterThanOrEqual(3);
  }).then(() => 'waits');
  expect(await Promise.race([started.catch(String), waits])).toBe('waits');
  ended.abort(new Error('seen enough'));
  await expect(started).rejects.toThrow();
}

/** Issues tokens that nobody signed, to clients that know a user's password. */
async function aTokenServer(): Promise<Server> {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const server = createServer((request, response) => {
    const basic = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
    const [id = '', secret] = basic.split(':');
    if (id !== secret) return response.writeHead(401).end();
    const now = Math.floor(Date.now() / 1_000);
    const token = `${part({ alg: 'none' })}.${part({ sub: id, iat: now, exp: now + 3_600 })}.`;
    return response.end(JSON.stringify({ access_token: token, expires_in: 3_600 }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

beforeAll(async () => {
  if (lack !== undefined) return;
  kafka = await aSecuredKafka(USERS, ['gapless-alerting']);
  tokens = await aTokenServer();
  gapless = await aGapless({
    KAFKA_BROKERS: kafka.brokers,
    KAFKA_TLS: 'true',
    KAFKA_CA_FILE: kafka.caFile,
    KAFKA_TOKEN_URL: `http://127.0.0.1:${(tokens.address() as AddressInfo).port}/token`,
    TOPIC_PREFIX: 'gapless',
    RETRY_SCHEDULE: '500ms',
    SWEEP_INTERVAL: '200ms',
  });
  // The first push is refused, and comes again by a retry topic.
  receiver = await aReceiver((_request, response) =>
    response.writeHead(receiver!.received.length > 1 ? 200 : 503).end(),
  );
});

afterAll(async () => {
  await gapless?.stop();
  await receiver?.close();
  tokens?.close();
  await kafka?.remove();
});

describe('brokers that ask who connects', () => {
  itUnless(
    lack,
    'let each stage do its work as a user of its own, with what docker/kafka/acls.sh allows it',
    async () => {
      await runAcls();
      const api = await gapless!.start([STAGE_MODULES.api], { name: 'api', http: API_HTTP, env: signIn('api') });
      const sasl: Readonly<Record<string, string>> = {
        sequencer: 'scram-sha-256',
        projector: 'plain',
        dispatcher: 'oauthbearer',
      };
      for (const name of STAGE_NAMES.filter((stage) => stage !== 'api')) {
        const env = name === 'alerting' ? identify(name) : signIn(name, sasl[name]);
        await gapless!.start([STAGE_MODULES[name]], { name, env });
      }
      const orgId = anOrgId();
      const client = new ApiClient(api.url, await anApiKey(api.app.get(Store), orgId));
      const webhook = await client.createWebhook({ url: receiver!.url, events: ['ticket.created'] });
      await client.setAlertThresholds(orgId, { first: 1, second: 3_600 });
      await client.emit([
        { event: 'ticket.created', data: { n: 1 } },
        { event: 'conversation.handed_off', data: conversationData('cnv_1') },
      ]);
      await eventually(() => {
        expect(receiver!.received.map(({ headers }) => headers['x-service-attempt'])).toEqual(['1', '2']);
      });
      const test = await client.request('POST', `/external/webhooks/${webhook.id}/test`);
      expect(test.status).toBeLessThan(300);
      await eventually(() => {
        expect(receiver!.received).toHaveLength(3);
      });
      await eventually(async () => {
        const events = (await client.feed()).map(({ event }) => event);
        expect(events.toSorted()).toEqual(['conversation.handed_off', 'conversation.queued', 'test', 'ticket.created']);
      });
      // A process that is killed while it publishes an alert leaves it to the next one like this.
      const store = api.app.get(Store);
      const published = async () => {
        const sql = 'select 1 from alerts where org_id = $1 and tells_staff and published_at is not null';
        expect(await store.query(sql, [orgId])).toHaveLength(1);
      };
      await eventually(published);
      await store.query('update alerts set published_at = null, is_logged = false where org_id = $1', [orgId]);
      await eventually(published);
    },
  );

  itUnless(lack, 'let no user write to the topics of others, nor create or delete topics', async () => {
    const topicOf = (role: string) => `gapless.${role}.v1`;
    const messages = [{ key: anOrgId(), value: '{}' }];
    for (const [name, allowed] of Object.entries(MAY_WRITE)) {
      const client = kafka!.as(`gapless-${name}`);
      const [producer, admin] = [client.producer(), client.admin()];
      await Promise.all([producer.connect(), admin.connect()]);
      try {
        const written: string[] = [];
        for (const role of ROLES.filter((one) => !allowed.includes(one))) {
          await producer.send({ topic: topicOf(role), messages }).then(
            () => written.push(role),
            (error: unknown) => {
              expect(String(error)).toMatch(/not authorized/i);
            },
          );
        }
        expect([name, written]).toEqual([name, []]);
        await expect(admin.deleteTopics({ topics: [topicOf('log')] })).rejects.toThrow();
        if (name === 'api') continue;
        await expect(admin.createTopics({ topics: [{ topic: 'gapless.other.v1' }] })).rejects.toThrow();
      } finally {
        await Promise.all([producer.disconnect(), admin.disconnect()]);
      }
    }
    // `MAY_WRITE` names every topic that is there.
    const admin = kafka!.as('admin').admin();
    await admin.connect();
    const topics = (await admin.listTopics()).filter((topic) => /^gapless\.(?!retry-)/.test(topic));
    await admin.disconnect();
    expect(topics.toSorted()).toEqual(ROLES.map(topicOf).toSorted());
  });

  itUnless(lack, 'end a transaction that a producer keeps open, by the commands of docs/operate.md', async () => {
    const topic = 'open-transactions';
    const command = (...args: readonly string[]) =>
      runJava('org.apache.kafka.tools.TransactionsCommand', [
        ...['--bootstrap-server', kafka!.brokers, '--command-config', kafka!.adminProperties],
        ...[...args, '--topic', topic, '--partition', '0'],
      ]);
    /** The last column of each producer: where its open transaction begins. */
    const openAt = async () =>
      (await command('describe-producers'))
        .toString()
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.trim().split(/\s+/).at(-1));
    const client = kafka!.as('admin');
    const admin = client.admin();
    const open = { transactionalId: 'left-open', transactionTimeout: 600_000, maxInFlightRequests: 1 };
    const [plain, producer] = [client.producer(), client.producer({ ...open, idempotent: true })];
    await Promise.all([admin, plain, producer].map((each) => each.connect()));
    try {
      await makePlainTopics(admin, [{ topic, numPartitions: 1 }]);
      await plain.send({ topic, messages: [{ value: 'before' }] });
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [{ value: 'never ended' }] });
      expect(await openAt()).toEqual(['1']);
      await command('abort', '--start-offset', '1');
      expect(await openAt()).toEqual(['None']);
    } finally {
      await Promise.all([admin, plain, producer].map((each) => each.disconnect()));
    }
  });

  itUnless(lack, 'are waited for when a certificate is missing that they ask for', async () => {
    await expectWaiting('alerting', { KAFKA_BROKERS: kafka!.certified.brokers });
  });

  itUnless(lack, 'are refused at once with a reason when the password is not right', async () => {
    const env = { ...signIn('api'), KAFKA_PASSWORD: 'wrong' };
    await expect(gapless!.start([STAGE_MODULES.api], { http: API_HTTP, env })).rejects.toThrow(/SASL.*authentication/i);
  });

  itUnless(lack, 'are waited for when nobody vouches for their certificate', async () => {
    await expectWaiting('api', { ...signIn('api'), KAFKA_CA_FILE: join(ROOT, 'test/support/tls/server.pem') });
  });
});
