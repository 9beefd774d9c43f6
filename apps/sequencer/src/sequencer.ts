import { envelopeBytes, parseEndpointId, type Clock } from '#libs/domain';
import { parseInboxValue } from '#libs/event-validation';
import {
  deadLetterRecord,
  logRecord,
  PRODUCE_BYTES,
  PRODUCE_RECORDS,
  recordBytes,
  TARGET_ENDPOINT_HEADER,
  TRACEPARENT_HEADER,
  type Appender,
  type ConsumerSession,
  type KafkaConnection,
  type NewRecord,
  type PartitionWriter,
  type StoredRecord,
  type TopicNames,
} from '#libs/kafka-log';
import type { Logger } from '#libs/runtime';
import { BatchTrace, type Tracing } from '#libs/tracing';
import { checkpointBatches } from './checkpoint-records.js';
import type { PartitionState } from './partition-state.js';
import { restorePartitions } from './restore-partitions.js';

/** What a restart has to read of the log at most, about: a tenth of a second's work. */
const CHECKPOINT_RECORDS = 5_000;
const CHECKPOINT_BYTES = 32 * 1024 * 1024;

/** Thrown before a write that may no longer be this sequencer's to make; nothing was written. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

type LogWrite = Omit<NewRecord, 'topic' | 'partition'>;

/** What a stretch of the inbox becomes. */
interface Folded {
  readonly log: readonly LogWrite[];
  readonly deadLetters: readonly NewRecord[];
}

export interface SequencerDependencies {
  readonly connection: KafkaConnection;
  readonly topics: TopicNames;
  /** The only writer of the log. */
  readonly writer: PartitionWriter;
  /** For dead letters. */
  readonly appender: Appender;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tracing: Tracing;
}

/**
 * The only writer of the log: gives each event of the inbox its org's next seq. Partition p of the inbox becomes
 * partition p of the log, with one write on its way at a time. A write that is not certain to have happened, or not,
 * makes it forget what it knows of the partition and read it back from the log.
 */
export class Sequencer {
  readonly #states = new Map<number, PartitionState>();
  /** What is being done with a partition; one thing at a time. */
  readonly #busy = new Map<number, Promise<unknown>>();

  constructor(private readonly use: SequencerDependencies) {}

  /** Appends the events of a stretch of the inbox partition to the log. A stretch that comes again changes nothing. */
  async sequence(partition: number, records: readonly StoredRecord[], session: ConsumerSession): Promise<void> {
    await this.#exclusively(partition, async () => {
      await this.#restore([partition], session);
      const state = this.#states.get(partition);
      if (state === undefined) throw new LeaseLostError(`partition ${partition} is not assigned`);
      const unseen = records.filter((record) => record.offset >= state.appended.inboxOffset);
      for (let done = 0; done < unseen.length;) {
        const chunk = takeChunk(unseen, done);
        await this.#append(partition, state, chunk, session);
        done += chunk.length;
      }
      const { records: count, bytes } = state.uncheckpointed;
      if (count >= CHECKPOINT_RECORDS || bytes >= CHECKPOINT_BYTES) await this.#checkpoint(partition, state, session);
    });
  }

  /** Brings back what is known of all assigned partitions that are not restored yet. */
  async restoreAssigned(session: ConsumerSession): Promise<void> {
    const partitions = session.assigned[this.use.topics.inbox] ?? [];
    for (const partition of this.#states.keys()) {
      if (!partitions.includes(partition)) this.#states.delete(partition);
    }
    const missing = partitions.filter((partition) => this.#states.get(partition)?.generation !== session.generation);
    if (missing.length === 0) return;
    await this.#exclusivelyAll(missing, () => this.#restore(missing, session));
  }

  /**
   * Checkpoints what was appended since the last time. Without it an org that falls silent would have its last seq
   * nowhere but in log records, which retention removes.
   */
  async checkpointAll(session: ConsumerSession): Promise<void> {
    for (const [partition, state] of this.#states) {
      if (state.uncheckpointed.records === 0) continue;
      await this.#exclusively(partition, async () => {
        if (this.#states.get(partition) === state) await this.#checkpoint(partition, state, session);
      });
    }
  }

  async #restore(partitions: readonly number[], session: ConsumerSession): Promise<void> {
    const missing = partitions.filter((partition) => this.#states.get(partition)?.generation !== session.generation);
    if (missing.length === 0) return;
    for (const partition of missing) this.#states.delete(partition);
    const startedAt = this.use.clock.now();
    const restored = await restorePartitions(this.use.connection, this.use.topics, missing, session.generation);
    for (const [partition, state] of restored) this.#states.set(partition, state);
    this.use.logger.info(
      {
        partitions: missing,
        tail_records: [...restored.values()].reduce((sum, state) => sum + state.uncheckpointed.records, 0),
        duration_ms: this.use.clock.now() - startedAt,
      },
      'sequencer.restored',
    );
  }

  async #append(
    partition: number,
    state: PartitionState,
    chunk: readonly StoredRecord[],
    session: ConsumerSession,
  ): Promise<void> {
    const last = chunk.at(-1);
    if (last === undefined) return;
    try {
      const trace = new BatchTrace(this.use.tracing, 'sequence', this.use.clock.now());
      const { log, deadLetters } = this.#fold(state, chunk, trace);
      // First, since a restart goes on behind the last record of the log; one that comes twice does no harm.
      await this.use.appender.append(deadLetters);
      if (log.length > 0) {
        this.#assertLease(partition, state, session);
        const offset = await this.use.writer.write(this.use.topics.log, partition, log);
        state.appended = { logOffset: offset + log.length, inboxOffset: last.offset + 1 };
        trace.end(this.use.clock.now());
        state.uncheckpointed.records += log.length;
        state.uncheckpointed.bytes += log.reduce((sum, record) => sum + (record.value?.length ?? 0), 0);
      }
    } catch (error) {
      // The fold ran ahead of the log, and whether the write happened only the log can tell.
      this.#states.delete(partition);
      throw error;
    }
  }

  /** A pure fold: no clock, no randomness. */
  #fold(state: PartitionState, chunk: readonly StoredRecord[], trace: BatchTrace): Folded {
    const log: LogWrite[] = [];
    const deadLetters: NewRecord[] = [];
    for (const record of chunk) {
      const target = record.headers[TARGET_ENDPOINT_HEADER];
      const targetEndpoint = parseEndpointId(target) ?? null;
      const reading = parseInboxValue(record.value, record.key, record.timestampMs, {
        allowTest: targetEndpoint !== null,
      });
      if (!reading.ok) {
        deadLetters.push(deadLetterRecord(this.use.topics.deadLetter, record, reading.code, reading.detail));
        continue;
      }
      const { event } = reading;
      if (!this.use.connection.isPlaceOf(event.orgId, record.partition)) {
        // Sequenced here, its org would have a second stream of seqs.
        const detail = `events of org ${event.orgId} belong to another partition: use the murmur2 partitioner`;
        deadLetters.push(deadLetterRecord(this.use.topics.deadLetter, record, 'wrong_partition', detail));
        continue;
      }
      const appending = state.sequences.append(event.orgId, event.id);
      if (appending.kind === 'repeat') {
        this.use.connection.metrics.add('gapless_sequencer_repeats_total', {});
        continue;
      }
      const { seq } = appending;
      log.push(
        logRecord(
          {
            orgId: event.orgId,
            seq,
            id: event.id,
            event: event.event,
            widgetId: event.widgetId,
            targetEndpoint: event.event === 'test' ? targetEndpoint : null,
            traceparent: trace.follow(record.headers[TRACEPARENT_HEADER] ?? null, event),
            envelope: envelopeBytes({ ...event, seq }),
          },
          { occurredAt: event.occurredAt, inboxOffset: record.offset },
        ),
      );
    }
    return { log, deadLetters };
  }

  async #checkpoint(partition: number, state: PartitionState, session: ConsumerSession): Promise<void> {
    const now = state.appended;
    const batches = checkpointBatches(state.sequences.takeChanged(), { before: state.checkpointed, now });
    try {
      for (const batch of batches) {
        this.#assertLease(partition, state, session);
        const offset = await this.use.writer.write(this.use.topics.sequences, partition, batch);
        if (offset !== state.sequencesNext) {
          // Another sequencer wrote here, which can only be one that was frozen: its snapshots are older than these.
          this.use.logger.warn({ partition, offset, expected: state.sequencesNext }, 'sequencer.foreign_checkpoint');
          state.sequences.markAllChanged();
        }
        state.sequencesNext = offset + batch.length;
      }
    } catch (error) {
      this.#states.delete(partition);
      throw error;
    }
    state.checkpointed = now;
    state.uncheckpointed = { records: 0, bytes: 0 };
  }

  /** What may be another sequencer's by now is not written to. */
  #assertLease(partition: number, state: PartitionState, session: ConsumerSession): void {
    if (state.generation !== session.generation || !session.holdsLease()) {
      throw new LeaseLostError(`the lease of partition ${partition} is not certain`);
    }
  }

  async #exclusively<T>(partition: number, act: () => Promise<T>): Promise<T> {
    return this.#exclusivelyAll([partition], act);
  }

  async #exclusivelyAll<T>(partitions: readonly number[], act: () => Promise<T>): Promise<T> {
    const before = Promise.allSettled(partitions.flatMap((partition) => this.#busy.get(partition) ?? []));
    const work = before.then(act);
    for (const partition of partitions) this.#busy.set(partition, work);
    return work;
  }
}

/** As many records from `from` on as one produce request should hold, at least one. */
function takeChunk(records: readonly StoredRecord[], from: number): readonly StoredRecord[] {
  let bytes = 0;
  let end = from;
  while (end < records.length && end - from < PRODUCE_RECORDS && (end === from || bytes < PRODUCE_BYTES)) {
    const record = records[end];
    if (record !== undefined) bytes += recordBytes(record);
    end++;
  }
  return records.slice(from, end);
}
