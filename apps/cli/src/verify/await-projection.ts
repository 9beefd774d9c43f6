import { setTimeout as delay } from 'node:timers/promises';
import { projectedUpTo } from '#libs/postgres';
import {
  hasReached,
  readPartitions,
  type KafkaConnection,
  type PartitionBounds,
  type Positions,
} from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import type { Differences } from './difference.js';

const LOOK_EVERY_MS = 100;

/** What a projection has to reach. */
interface Awaited {
  readonly projection: string;
  readonly topic: string;
  readonly bounds: ReadonlyMap<number, PartitionBounds>;
}

/**
 * Waits until the projection has read all records up to the given ends of the topic, for at most `patienceMs`. It adds a
 * difference for each partition that the projection has not read by then.
 * @returns the projection's offset in each partition
 */
export async function awaitProjection(
  { connection, store }: Pick<Installation, 'connection' | 'store'>,
  { projection, topic, bounds }: Awaited,
  patienceMs: number,
  differences: Differences,
): Promise<Positions> {
  let reached = await projectedUpTo(store, projection, topic);
  const ends = await recordEnds(connection, topic, bounds, reached);
  for (let waitedMs = 0; !hasReached(reached, ends) && waitedMs < patienceMs; waitedMs += LOOK_EVERY_MS) {
    await delay(LOOK_EVERY_MS);
    reached = await projectedUpTo(store, projection, topic);
  }
  for (const [partition, end] of ends) {
    const at = reached.get(partition) ?? 0;
    if (at < end) differences.add({ kind: 'behind', projection, place: `${topic}/${partition}/${end}`, at });
  }
  return reached;
}

/**
 * Returns the offset after the last record of each partition. A partition may end with markers of transactions and with
 * aborted records, which no reader gets. So what the projection has not reached is read.
 */
async function recordEnds(
  connection: KafkaConnection,
  topic: string,
  bounds: ReadonlyMap<number, PartitionBounds>,
  reached: Positions,
): Promise<Positions> {
  const ends = new Map<number, number>();
  const stretches = [...bounds].map(([partition, { end }]) => {
    const at = reached.get(partition) ?? 0;
    ends.set(partition, Math.min(at, end));
    return { topic, partition, from: at, to: end };
  });
  const onRecord = ({ partition, offset }: { readonly partition: number; readonly offset: number }) => {
    ends.set(partition, offset + 1);
  };
  await readPartitions(connection, stretches, onRecord, { unreadable: 'given' });
  return ends;
}
