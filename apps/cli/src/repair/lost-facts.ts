import type { DeliveryFact } from '#libs/domain';
import { FeedRepair, projectedPositions } from '#libs/postgres';
import { checkPositions, parseAnchor, readPartitions, type StoredRecord } from '#libs/kafka-log';
import { factOf } from '../fact-of.js';
import type { Installation } from '../installation.js';

/** The loss of delivery facts in a partition that went back. */
export interface LostFacts {
  /** The offset of the record that was read but no longer exists. */
  readonly expected: number;
  readonly end: number;
  /** The offset of the first record that Postgres has not folded. */
  readonly from: number;
  /** How many of the records that were looked at are not facts, such as a batch that cannot be read. */
  readonly foreign: number;
}

/** How many facts are compared with Postgres at a time. */
const FACTS_AT_ONCE = 1_000;

/** Finds the partitions of the delivery facts that went back, and where their new facts begin. */
export async function findLostFacts(installation: Installation): Promise<ReadonlyMap<number, LostFacts>> {
  const { connection, topics, store } = installation;
  const positions = await projectedPositions(store, 'deliveries', topics.deliveries, parseAnchor);
  const checked = await checkPositions(connection, topics.deliveries, positions);
  const lost = new Map<number, LostFacts>();
  for (const [partition, { verdict, begin, end }] of checked) {
    if (verdict.kind !== 'went back') continue;
    const { from, foreign } = await firstUnfolded(installation, partition, { begin, end });
    lost.set(partition, { expected: verdict.expected, end, from, foreign });
  }
  return lost;
}

/**
 * Returns the offset of the first fact that Postgres has not folded. Stages keep writing to a topic that went back, so
 * new facts may have old offsets.
 */
async function firstUnfolded(
  { connection, topics, store }: Installation,
  partition: number,
  { begin, end }: { readonly begin: number; readonly end: number },
): Promise<Pick<LostFacts, 'from' | 'foreign'>> {
  const repair = new FeedRepair(store);
  let [to, unfolded] = [end, end];
  let foreign = 0;
  while (to > begin) {
    const from = Math.max(begin, to - FACTS_AT_ONCE);
    const facts: DeliveryFact[] = [];
    const add = (record: StoredRecord) => {
      const fact = factOf(record);
      if (fact === undefined) foreign++;
      else facts.push(fact);
    };
    const stretch = { topic: topics.deliveries, partition, from, to };
    await readPartitions(connection, [stretch], add, { unreadable: 'given' });
    const { compared, missing } = await repair.compareFolded(facts);
    if (compared > 0 && missing === 0) return { from: unfolded, foreign };
    // Facts of deleted endpoints say nothing about those before them.
    if (compared > 0) unfolded = from;
    to = from;
  }
  return { from: begin, foreign };
}

/** For people. */
export function lostFactsLines(partition: number, { expected, end, from, foreign }: LostFacts): readonly string[] {
  const lines = [
    `deliveries/${partition}: facts up to ${expected} were read, the topic ends at ${end}. The delivery log in Postgres keeps what it has read; Kafka has it no longer, so a rebuild would lose it.`,
  ];
  if (from < end) lines.push(`  facts from ${from} on were written since, and are projected`);
  if (foreign > 0) lines.push(`  ${foreign} records that are not facts are skipped`);
  return lines;
}
