import type { Appender, BatchContext, NewRecord, RecordBatch, StoredRecord } from '#libs/kafka-log';

/**
 * Writes the dead letters of a projection. A batch comes again and again while its database is away or takes no writes:
 * its records get no second dead letters.
 */
export class DeadLetters {
  /** The offset after the last record that got one in this assignment, by partition. */
  readonly #done = new Map<number, { readonly generation: number; readonly next: number }>();

  constructor(private readonly appender: Appender) {}

  /**
   * @param foreign the records of the batch that cannot be projected
   * @returns those that have just got their dead letters
   */
  async write(
    { partition, generation }: Pick<RecordBatch, 'partition'> & Pick<BatchContext, 'generation'>,
    foreign: readonly StoredRecord[],
    letterOf: (record: StoredRecord) => NewRecord,
  ): Promise<readonly StoredRecord[]> {
    const done = this.#done.get(partition);
    const from = done?.generation === generation ? done.next : 0;
    const fresh = foreign.filter(({ offset }) => offset >= from);
    const last = fresh.at(-1);
    if (last === undefined) return [];
    await this.appender.append(fresh.map(letterOf));
    this.#done.set(partition, { generation, next: last.offset + 1 });
    return fresh;
  }
}
