import { setTimeout as delay } from 'node:timers/promises';
import { OverdueDeliveries, type Store } from '#libs/postgres';
import { hasReached, type PartitionBounds, type Positions } from '#libs/kafka-log';

const LOOK_EVERY_MS = 100;

/**
 * Waits until the projection has reached the given ends of the topic, for at most `patienceMs`.
 * @returns the projection's offset in each partition
 */
export async function awaitProjection(
  store: Store,
  projection: string,
  topic: string,
  bounds: ReadonlyMap<number, PartitionBounds>,
  patienceMs: number,
): Promise<Positions> {
  const ends = new Map([...bounds].map(([partition, { begin, end }]) => [partition, begin === end ? 0 : end]));
  const offsets = new OverdueDeliveries(store);
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const reached = await offsets.projectedUpTo(projection, topic);
    if (hasReached(reached, ends) || waitedMs >= patienceMs) return reached;
    await delay(LOOK_EVERY_MS);
  }
}
