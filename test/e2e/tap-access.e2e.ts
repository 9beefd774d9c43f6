import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { systemClock } from '#libs/domain';
import { tailCommand } from '../../apps/cli/src/commands/tail.command.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { itUnless, LACKS, ROOT, runJava } from '../support/outside-clients.js';
import { aSecuredKafka, type SecuredKafka } from '../support/secured-kafka.js';
import { makePlainTopics } from '../support/topics.js';

const TEAM = 'data-team';
/** May read the log in the end, but in no group. */
const NEWCOMER = 'newcomer';
const LOG = 'gapless.log.v1';
const INBOX = 'gapless.inbox.v1';
const NOT_AUTHORIZED = /not authorized/i;

/** Returns the commands of the page, each as the arguments after its name. */
function documentedCommands(): readonly (readonly string[])[] {
  const page = readFileSync(join(ROOT, 'docs/tap-kafka.md'), 'utf8');
  return [...page.matchAll(/```bash acls\n([^`]+)\n```/g)]
    .flatMap(([, block = '']) => block.split('\n'))
    .map((line) => line.split(' ').slice(1));
}

const lack = LACKS.kafkaTools;
let kafka: SecuredKafka | undefined;

beforeAll(async () => {
  if (lack !== undefined) return;
  kafka = await aSecuredKafka([TEAM, NEWCOMER]);
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

async function run(command: readonly string[]): Promise<void> {
  const given = command.map((word) => (word === '"$BROKERS"' ? kafka!.brokers : word));
  const args = given.map((word) => (word === 'admin.properties' ? kafka!.adminProperties : word));
  await runJava('org.apache.kafka.tools.AclCommand', args);
}

/** Runs `gapless tail --no-follow` from before the event. */
async function tail(user: string, password = user): Promise<void> {
  const context = {
    clock: systemClock,
    withStore: () => Promise.reject(new Error('not asked')),
    print: () => undefined,
    colours: 'never',
    isOutputTerminal: false,
    unread: new AbortController().signal,
    interruption: () => AbortSignal.abort(),
  } as const;
  const environment = {
    KAFKA_BROKERS: kafka!.brokers,
    KAFKA_TLS: 'true',
    KAFKA_CA_FILE: kafka!.caFile,
    KAFKA_SASL: 'plain',
    KAFKA_USERNAME: user,
    KAFKA_PASSWORD: password,
  };
  await tailCommand(context, environment).parseAsync(['--no-follow', '--from', '1h'], { from: 'user' });
}

describe('a data team, after the commands of docs/tap-kafka.md', () => {
  itUnless(lack, 'reads the log in its own groups, and does nothing else', async () => {
    await expect(offsetsOf(LOG)).rejects.toThrow(NOT_AUTHORIZED);

    const commands = documentedCommands();
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) await run(command);

    expect(await eventually(() => consume(LOG, `${TEAM}-warehouse`))).toBe('an event');
    // Which is how kafkajs puts it that no broker lets it join.
    await expect(consume(LOG, 'somebody-elses')).rejects.toThrow('Failed to find group coordinator');
    await expect(consume(INBOX, TEAM)).rejects.toThrow(NOT_AUTHORIZED);
    await expect(offsetsOf(INBOX)).rejects.toThrow(NOT_AUTHORIZED);
    await expect(produce(TEAM, LOG)).rejects.toThrow(NOT_AUTHORIZED);
    await expect(produce(TEAM, INBOX)).rejects.toThrow(NOT_AUTHORIZED);
  });

  itUnless(lack, 'uses `gapless tail`, which says to others what they lack', async () => {
    await eventually(() => tail(TEAM));
    // The group of `tail` without `--no-follow`.
    expect(await consume(LOG, 'gapless-follower-1')).toBe('an event');
    await expect(tail(TEAM, 'wrong')).rejects.toThrow(/refuses this: .*authentication.* check KAFKA_USERNAME/i);
    await expect(tail(NEWCOMER)).rejects.toThrow(/refuses this: not authorized.* the permissions$/i);
    const [readsTheLog = []] = documentedCommands();
    await run(readsTheLog.map((word) => word.replace(`User:${TEAM}`, `User:${NEWCOMER}`)));
    await eventually(() => expect(tail(NEWCOMER)).rejects.toThrow(/read in a group; check its permissions/));
  });
});
