import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { eventually } from '../support/infrastructure/eventually.js';
import { itUnless, LACKS, ROOT, runJava } from '../support/outside-clients.js';
import { aSecuredKafka, type SecuredKafka } from '../support/secured-kafka.js';
import { makePlainTopics } from '../support/topics.js';

const TEAM = 'data-team';
const LOG = 'gapless.log.v1';
const INBOX = 'gapless.inbox.v1';
const NOT_AUTHORIZED = /not authorized/i;

/** Returns the commands of the page, each as the arguments after its name. */
function documentedCommands(): readonly (readonly string[])[] {
  const page = readFileSync(join(ROOT, 'docs/tap-kafka.md'), 'utf8');
  const block = /```bash acls\n([^`]+)```/.exec(page)?.[1] ?? '';
  return block
    .trim()
    .split('\n')
    .map((line) => line.split(' ').slice(1));
}

const lack = LACKS.kafkaTools;
let kafka: SecuredKafka | undefined;

beforeAll(async () => {
  if (lack !== undefined) return;
  kafka = await aSecuredKafka([TEAM]);
  const admin = kafka.as('admin').admin();
  await admin.connect();
  await makePlainTopics(
    admin,
    [LOG, INBOX].map((topic) => ({ topic, numPartitions: 1 })),
  );
  await admin.disconnect();
  await produce('admin', LOG);
});

afterAll(async () => {
  await kafka?.remove();
});

async function produce(user: string, topic: string): Promise<void> {
  const producer = kafka!.as(user).producer({ allowAutoTopicCreation: false, retry: { retries: 0 } });
  await producer.connect();
  try {
    await producer.send({ topic, messages: [{ key: 'org', value: 'an event' }] });
  } finally {
    await producer.disconnect();
  }
}

async function offsetsOf(topic: string): Promise<unknown> {
  const admin = kafka!.as(TEAM).admin();
  await admin.connect();
  try {
    return await admin.fetchTopicOffsets(topic);
  } finally {
    await admin.disconnect();
  }
}

/** The first record of the topic. */
async function consume(topic: string, groupId: string): Promise<string> {
  const consumer = kafka!
    .as(TEAM)
    .consumer({ groupId, retry: { retries: 0, restartOnFailure: () => Promise.resolve(false) } });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    return await new Promise<string>((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        reject(payload.error);
      });
      const eachMessage = ({ message }: { readonly message: { readonly value: Buffer | null } }) => {
        resolve(String(message.value));
        return Promise.resolve();
      };
      consumer.run({ autoCommit: false, eachMessage }).catch(reject);
    });
  } finally {
    await consumer.disconnect();
  }
}

describe('a data team, after the commands of docs/tap-kafka.md', () => {
  itUnless(lack, 'reads the log in its own groups, and does nothing else', async () => {
    await expect(offsetsOf(LOG)).rejects.toThrow(NOT_AUTHORIZED);

    const commands = documentedCommands();
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      const given = command.map((word) => (word === '"$BROKERS"' ? kafka!.brokers : word));
      const args = given.map((word) => (word === 'admin.properties' ? kafka!.adminProperties : word));
      await runJava('org.apache.kafka.tools.AclCommand', args);
    }

    expect(await eventually(() => consume(LOG, `${TEAM}-warehouse`))).toBe('an event');
    // Which is how kafkajs puts it that no broker lets it join.
    await expect(consume(LOG, 'somebody-elses')).rejects.toThrow('Failed to find group coordinator');
    await expect(consume(INBOX, TEAM)).rejects.toThrow(NOT_AUTHORIZED);
    await expect(offsetsOf(INBOX)).rejects.toThrow(NOT_AUTHORIZED);
    await expect(produce(TEAM, LOG)).rejects.toThrow(NOT_AUTHORIZED);
    await expect(produce(TEAM, INBOX)).rejects.toThrow(NOT_AUTHORIZED);
  });
});
