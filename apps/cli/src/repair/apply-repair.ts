import { SEQ_NONE } from '#libs/domain';
import { FeedRepair, RouterPlaces, type StoredEvent } from '#libs/postgres';
import {
  checkpointRecord,
  InstallationTopic,
  logRecord,
  moveGroup,
  PartitionWriter,
  PRODUCE_RECORDS,
  REQUEST_BYTES,
  stretchesOf,
  snapshotRecord,
  type NewRecord,
  type TopicNames,
} from '#libs/kafka-log';
import { CliError } from '../cli-error.js';
import type { Installation } from '../installation.js';
import { settleGrownTopics } from './grown-topics.js';
import { resumedSeqs } from './lost-seqs.js';
import { LOG_PROJECTIONS, type PartitionPlan, type RepairPlan } from './repair-plan.js';

/**
 * Executes the plan. It writes the log before the projections: after an interruption, the same command or a rebuild
 * finishes the work.
 */
export async function applyRepair(installation: Installation, plan: RepairPlan): Promise<void> {
  // First: what shows that it is needed is repaired below.
  await noteLostBegins(installation, plan);
  const places = new RouterPlaces(installation.store);
  for (const { partition, to } of plan.routedAgain) await places.moveBack(installation.topics.log, partition, to);
  const writer = new PartitionWriter(installation.connection);
  try {
    for (const partition of plan.partitions) await repairPartition(installation, writer, partition);
  } finally {
    await writer.close();
  }
  await moveGroups(installation, plan);
  await settleGrownTopics(installation, plan.grown);
  for (const [partition, { from }] of plan.lostFacts) {
    await new FeedRepair(installation.store).foldAgain(new Map(), {
      topic: installation.topics.deliveries,
      partition,
      nextOffset: from,
      projections: ['deliveries'],
    });
  }
}

/** Otherwise `verify` would expect each organization to begin at seq 1 in a log that has its first record. */
async function noteLostBegins({ connection, topics }: Installation, { partitions }: RepairPlan): Promise<void> {
  const places = partitions.filter(isBeginLost).map(({ partition }) => `${topics.log}/${partition}`);
  if (places.length === 0) return;
  await new InstallationTopic(connection, topics.installation).noteLostBegins(places);
}

/** Whether an organization goes on in the log after its head, and no event before that is there or is put back. */
function isBeginLost({ seqsWithoutEvents, putBack }: PartitionPlan): boolean {
  return [...seqsWithoutEvents].some(([orgId, seq]) => seq > SEQ_NONE && !putBack.orgs.has(orgId));
}

async function repairPartition(
  { topics, store }: Installation,
  writer: PartitionWriter,
  plan: PartitionPlan,
): Promise<void> {
  if (!plan.needsReset) return;
  const { partition, log, inbox, putBack } = plan;
  const repair = new FeedRepair(store);
  const lastSeqs = resumedSeqs(plan);
  const before = new Map([...putBack.orgs].map(([orgId, { after }]) => [orgId, after]));
  let end = log.end;
  await repair.eventsAfter(partition, before, async (events) => {
    const records = events.map((event) => putBackRecord(event, inbox.offset - 1));
    await writeAll(writer, topics.log, partition, records, end);
    end += records.length;
    for (const { orgId, seq } of events) if (seq > (lastSeqs.get(orgId) ?? SEQ_NONE)) lastSeqs.set(orgId, seq);
  });
  const place = { logOffset: end, inboxOffset: inbox.offset, clockMs: null };
  const snapshots = [...lastSeqs].map(([orgId, seq]) => snapshotRecord(orgId, seq, plan.isLogBehind));
  // Removes the ids of events that the log has lost. Otherwise the inbox could not bring these events back.
  const over = plan.isLogBehind ? [...log.idsKeys].map((key) => ({ key, value: null })) : [];
  await writeAll(writer, topics.sequences, partition, [...over, ...snapshots, checkpointRecord(place, true)]);
  if (plan.isLogBehind || putBack.count > 0) {
    await repair.foldQueuesAgain(plan.queueSeqs);
    await repair.foldAgain(putBack.orgs, {
      topic: topics.log,
      partition,
      nextOffset: log.end,
      projections: LOG_PROJECTIONS,
    });
  }
}

function putBackRecord(event: StoredEvent, inboxOffset: number): ReturnType<typeof logRecord> {
  const { occurred_at: occurredAt } = JSON.parse(event.envelope.toString()) as { readonly occurred_at: string };
  return logRecord(
    { ...event, targetEndpoint: null, traceparent: null },
    { occurredAt, inboxOffset, inboxTimeMs: event.appendedAtMs, isPutBack: true },
  );
}

/** @param end where the partition has to end now, so that records of another writer are noticed */
async function writeAll(
  writer: PartitionWriter,
  topic: TopicNames['log'],
  partition: number,
  records: readonly Omit<NewRecord, 'topic' | 'partition'>[],
  end?: number,
): Promise<void> {
  let expected = end;
  for (const stretch of stretchesOf(records, { bytes: REQUEST_BYTES, records: PRODUCE_RECORDS })) {
    const offset = await writer.write(topic, partition, stretch);
    if (expected === undefined) continue;
    if (offset !== expected) {
      throw new CliError(`${topic}/${partition} got new records meanwhile: stop all processes, then run repair again`);
    }
    expected += stretch.length;
  }
}

async function moveGroups({ connection }: Installation, { groups }: RepairPlan): Promise<void> {
  const keys = new Set(groups.map(({ groupId, topic }) => `${groupId} ${topic}`));
  for (const key of keys) {
    const [groupId = '', topic = ''] = key.split(' ');
    const places = groups
      .filter((place) => place.groupId === groupId && place.topic === topic)
      .map(({ partition, to }) => [partition, to] as const);
    await moveGroup(connection, groupId, topic, new Map(places));
  }
}
