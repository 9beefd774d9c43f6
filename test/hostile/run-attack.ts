import kafkajs from 'kafkajs';
import { partitionOf } from '#libs/kafka-log';
import { Histogram } from '../bench/figures/histogram.js';
import type { GaplessProcess } from '../bench/system/gapless-process.js';
import { createOrgs } from '../bench/system/org-keys.js';
import { ApiClient } from '../support/api-client.js';
import { RawProducer } from '../support/raw-producer.js';
import type { Attack, Attacker } from './attack.js';
import type { Experience, Neighbour } from './neighbour.js';
import { vitalsDuring, type Vitals } from './vitals.js';

const INBOX = 'gapless.inbox.v1';
const DEAD_LETTERS = 'gapless.dead-letter.v1';
/** How long the neighbour goes on when the attacker has ended. */
const REST_MS = 3_000;
/** Beside a record that stops something, everybody else goes on within this time. */
const GOES_ON_WITHIN_MS = 5_000;

/** What an attack did. */
export interface Outcome {
  readonly attack: string;
  readonly result: string;
  readonly neighbour: Experience;
  readonly vitals: Vitals;
  readonly deadLetters: number;
  /** Why this is not as it has to be. */
  readonly problems: readonly string[];
}

/** Has a new organization attack the Gapless, and looks at what that does to a neighbour and to the process. */
export async function runAttack(attack: Attack, gapless: GaplessProcess, neighbour: Neighbour): Promise<Outcome> {
  const tidies: (() => Promise<void> | void)[] = [];
  const complaints: string[] = [];
  const attacker = await anAttacker(gapless, {
    afterwards: (tidy) => tidies.push(tidy),
    complain: (problem) => complaints.push(problem),
  });
  const { base_url: baseUrl, kafka_brokers: brokers } = gapless.credentials;
  const before = await recordsIn(brokers, DEAD_LETTERS);
  let result = '';
  let experience: Experience | undefined;
  try {
    await attack.prepare?.(attacker);
    const vitals = await vitalsDuring(gapless.pid, baseUrl, async () => {
      experience = await neighbour.during(async () => {
        result = await attack.strike(attacker);
      }, REST_MS);
    });
    gapless.died.throwIfAborted();
    const deadLetters = (await recordsIn(brokers, DEAD_LETTERS)) - before;
    const outcome = { attack: attack.name, result, neighbour: experience!, vitals, deadLetters };
    return { ...outcome, problems: [...complaints, ...problemsOf(attack, outcome)] };
  } finally {
    attacker.inbox.producer.close();
    for (const tidy of tidies) await tidy();
  }
}

/** Returns the complaint if 99 of 100 took longer than the limit. */
export function beyond(what: string, times: readonly number[], limitMs: number): readonly string[] {
  const p99 = Histogram.of(times).quantile(0.99);
  return p99 > limitMs ? [`${what} in ${p99.toFixed(0)} ms (p99); at most ${limitMs} ms are allowed`] : [];
}

function problemsOf({ isPoison, limits }: Attack, { neighbour, vitals }: Omit<Outcome, 'problems'>): readonly string[] {
  const problems: string[] = [];
  if (neighbour.missing > 0) problems.push(`${neighbour.missing} events of the neighbour were not pushed`);
  if (neighbour.refused > 0) problems.push(`${neighbour.refused} requests of the neighbour were refused`);
  if (vitals.notReady > 0) problems.push(`${vitals.notReady} of ${vitals.looks} times it was not ready`);
  const slowestMs = Math.max(0, ...neighbour.pushed);
  if (isPoison === true && slowestMs > GOES_ON_WITHIN_MS) {
    problems.push(`the neighbour waited ${(slowestMs / 1_000).toFixed(1)} s`);
  }
  const { acknowledgedP99Ms = Infinity, pushedP99Ms = Infinity, growthMiB = Infinity } = limits ?? {};
  const grownMiB = vitals.peakMiB - vitals.beforeMiB;
  if (grownMiB > growthMiB) problems.push(`it grew by ${grownMiB} MiB; at most ${growthMiB} MiB are allowed`);
  return [
    ...problems,
    ...beyond('events of the neighbour were acknowledged', neighbour.acknowledged, acknowledgedP99Ms),
    ...beyond('events of the neighbour were pushed', neighbour.pushed, pushedP99Ms),
  ];
}

async function anAttacker(
  gapless: GaplessProcess,
  means: Pick<Attacker, 'afterwards' | 'complain'>,
): Promise<Attacker> {
  const {
    base_url: baseUrl,
    kafka_brokers: brokers,
    database_url: databaseUrl,
    service_key: key,
  } = gapless.credentials;
  const [org] = await createOrgs(databaseUrl, 1);
  if (org === undefined) throw new Error('no organization was made');
  const partitions = (await endsOf(brokers, INBOX)).length;
  return {
    ...org,
    baseUrl,
    client: new ApiClient(baseUrl, org.apiKey),
    service: new ApiClient(baseUrl, key),
    serviceKey: key,
    brokers,
    inbox: {
      topic: INBOX,
      partitions,
      partition: partitionOf(org.orgId, partitions),
      producer: await RawProducer.to(brokers),
    },
    ...means,
  };
}

async function endsOf(brokers: string, topic: string): Promise<readonly number[]> {
  const kafka = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  try {
    return (await admin.fetchTopicOffsets(topic)).map(({ high }) => Number(high));
  } finally {
    await admin.disconnect();
  }
}

async function recordsIn(brokers: string, topic: string): Promise<number> {
  return (await endsOf(brokers, topic)).reduce((sum, end) => sum + end, 0);
}
