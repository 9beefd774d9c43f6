import { randomUUID } from 'node:crypto';
import { LogPositions, type KafkaConnection, type NewRecord } from '#libs/kafka-log';
import { eventually } from './infrastructure/eventually.js';

export interface TransactionPlace {
  readonly topic: string;
  readonly partition: number;
  readonly end?: 'commit' | 'abort';
}

/** Writes records in a transaction of their own, and waits until its marker follows them. */
export async function writeInTransaction(
  connection: KafkaConnection,
  { topic, partition, end = 'commit' }: TransactionPlace,
  records: readonly Omit<NewRecord, 'topic' | 'partition'>[],
): Promise<void> {
  const endOffset = async () => (await new LogPositions(connection).bounds(topic)).get(partition)?.end ?? 0;
  const messages = records.map(({ headers, ...record }) => ({ ...record, partition, headers: { ...headers } }));
  // On a busy machine, a transaction may last longer than the broker lets it.
  await eventually(async () => {
    const before = await endOffset();
    const producer = connection.kafka.producer({
      transactionalId: randomUUID(),
      transactionTimeout: 3_000,
      maxInFlightRequests: 1,
    });
    await producer.connect();
    try {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages });
      await transaction[end]();
    } finally {
      await producer.disconnect();
    }
    await eventually(async () => {
      if ((await endOffset()) <= before + records.length) throw new Error('the marker is missing');
    });
  });
}
