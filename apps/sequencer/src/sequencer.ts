import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import {
  envelopeBytes,
  isExampleId,
  parseEndpointId,
  PartitionStoppedError,
  type Clock,
  type IdFingerprint,
} from '#libs/domain';
import { parseInboxValue } from '#libs/event-validation';
import {
  checkedTo,
  checkpointBatches,
  deadLetterRecord,
  hasLeader,
  LogPositions,
  logRecord,
  PRODUCE_BYTES,
  PRODUCE_RECORDS,
  READ_BACK_RECORDS,
  recordBytes,
  TARGET_ENDPOINT_HEADER,
  TRACEPARENT_HEADER,
  unreadableBatchRecord,
  type Appender,
  type ConsumerSession,
  type KafkaConnection,
  type NewRecord,
  type PartitionWriter,
  type StoredRecord,
  type TopicNames,
} from '#libs/kafka-log';
import type { Logger } from '#libs/runtime';
import { BatchTrace, validTraceParent, type Tracing } from '#libs/telemetry';
import { wentBack, type LogContinuity } from './log-continuity.js';
import type { PartitionState } from './partition-state.js';
import { restorePartitions, type Restored } from './restore-partitions.js';

/** About the most records that a restart has to read from the log, which takes about 0.1 s. */
const CHECKPOINT_RECORDS = 5_000;
const CHECKPOINT_BYTES = 32 * 1024 * 1024;
/** Records that are folded before other work of the thread runs: a few milliseconds. */
const FOLDED_AT_ONCE = 100;
/** How long a lease may take that is late, and how often it is looked at, milliseconds. */
const LATE_LEASE_MS = 1_000;
const LEASE_LOOK_MS = 50;

/** Thrown before a write if the partition may belong to another sequencer. Nothing was written. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

const NOTHING_RESTORED: Restored = { states: new Map(), stopped: new Map() };

type LogWrite = Omit<NewRecord, 'topic' | 'partition'>;

/** The records to write for a chunk of the inbox. */
interface Folded {
  readonly log: readonly LogWrite[];
  readonly deadLetters: readonly NewRecord[];
}

export interface SequencerDependencies {
  readonly connection: KafkaConnection;
  readonly topics: TopicNames;
  /** The only writer of the log. */
  readonly writer: PartitionWriter;
  /** Appends dead letters. */
  readonly appender: Appender;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tracing: Tracing;
  /** The most records between a stamp and the window; for tests. */
  readonly readBackRecords?: number;
  readonly continuity: LogContinuity;
}

/**
 * The only writer of the log: gives each event of the inbox its org's next seq. Partition p of the inbox becomes
 * partition p of the log, with one write at a time. If the outcome of a write is uncertain, the sequencer forgets its
 * state of the partition, and reads the log again.
 */
export class Sequencer {
  readonly #states = new Map<number, PartitionState>();
  /** Partitions that cannot be restored until an operator acts. */
  readonly #stopped = new Map<number, PartitionStoppedError>();
  #stoppedIn: number | null = null;
  /** The work on each partition, one task at a time. */
  readonly #busy = new Map<number, Promise<unknown>>();

  constructor(private readonly use: SequencerDependencies) {}

  /**
   * Appends the events of these inbox records to the log. Repeated records change nothing.
   * @returns where to resume in the inbox, if that is before these records: the log does not cover the records in
   *   between
   */
  async sequence(
    partition: number,
    records: readonly StoredRecord[],
    session: ConsumerSession,
  ): Promise<number | undefined> {
    if (!this.use.connection.isOwnPartition(partition)) {
      // The inbox got more partitions. There is no log for them, and no key belongs to them.
      await this.use.appender.append(records.map((record) => this.#misplaced(record)));
      return undefined;
    }
    return this.#exclusively(partition, async () => {
      for (let next = 0; next < records.length;) {
        const state = await this.#stateOf(partition, session);
        const resumeAt = await this.#resumeAt(partition, state, records[next]?.offset ?? 0, session);
        if (resumeAt !== undefined) return resumeAt;
        while ((records[next]?.offset ?? Infinity) < state.handledTo) next++;
        const chunk = takeChunk(records, next, (timestampMs) => state.fold.ids.segmentOf(timestampMs));
        await this.#append(partition, state, chunk, session);
        next += chunk.length;
      }
      const state = this.#states.get(partition);
      if (state === undefined) return undefined;
      const { unwritten, uncheckpointed } = state;
      const isLarge = uncheckpointed.records >= CHECKPOINT_RECORDS || uncheckpointed.bytes >= CHECKPOINT_BYTES;
      // One that failed is made again by `checkpointAll`.
      if (isLarge && unwritten === null) await this.#tryCheckpoint(partition, state, session);
      return undefined;
    });
  }

  /**
   * Returns where to resume in the inbox, if that is before `offset`. The records in between were repeats or dead
   * letters, or the log has lost their events. Sequenced again, repeats change nothing, and lost events become the same
   * records.
   */
  async #resumeAt(
    partition: number,
    state: PartitionState,
    offset: number,
    { generation }: ConsumerSession,
  ): Promise<number | undefined> {
    if (state.joinedIn === generation) return undefined;
    const { handledTo } = state;
    const { inbox } = this.use.topics;
    const kept =
      offset <= handledTo ? undefined : (await new LogPositions(this.use.connection).bounds(inbox)).get(partition);
    // Checked once for each assignment: the inbox can lack offsets, and records before its first one are gone.
    state.joinedIn = generation;
    if (offset <= handledTo) return undefined;
    const resumeAt = Math.max(handledTo, kept?.begin ?? 0);
    if (resumeAt >= Math.min(offset, kept?.end ?? 0)) return undefined;
    this.use.logger.info({ partition, offset, resume_at: resumeAt }, 'sequencer.reads_again');
    return resumeAt;
  }

  /** Restores the assigned partitions that are not restored yet. */
  async restoreAssigned(session: ConsumerSession): Promise<void> {
    const assigned = session.assigned[this.use.topics.inbox] ?? [];
    const partitions = assigned.filter((partition) => this.use.connection.isOwnPartition(partition));
    for (const partition of this.#states.keys()) if (!partitions.includes(partition)) this.#states.delete(partition);
    this.use.continuity.keeps(partitions);
    if (this.#stoppedIn !== session.generation) {
      // A consumer that joins again reports nothing of what stopped before: it is tried again, and reported again.
      this.#stopped.clear();
      this.#stoppedIn = session.generation;
    }
    // A stopped partition is checked again when a record comes for it.
    const missing = this.#unproven(partitions, session).filter((partition) => !this.#stopped.has(partition));
    if (missing.length === 0) return;
    const groups = this.use.continuity.divide(await this.#withLeaders(missing));
    // The others need not wait for a feed database that fails. The error says what its partitions wait for.
    const restored = await Promise.allSettled(
      groups.map((some) => this.#exclusivelyAll(some, () => this.#restore(some, session))),
    );
    for (const result of restored) if (result.status === 'rejected') throw result.reason;
  }

  /** Leaves out the partitions that cannot be restored now: restoring them would fail for all. */
  async #withLeaders(partitions: readonly number[]): Promise<readonly number[]> {
    const { connection, topics } = this.use;
    const ends = await new LogPositions(connection).together((positions) =>
      Promise.all([topics.inbox, topics.log, topics.sequences].map((topic) => positions.ends(topic))),
    );
    return partitions.filter((partition) => ends.every((ofTopic) => hasLeader(ofTopic, partition)));
  }

  /**
   * Checkpoints the records that were appended since the last call. Otherwise only log records would hold the last seq
   * of an org that falls silent, and retention removes them. It also overwrites older snapshots of a sequencer that was
   * frozen, which compaction would keep.
   */
  async checkpointAll(session: ConsumerSession): Promise<void> {
    for (const [partition, state] of this.#states) {
      const { uncheckpointed, unwritten, fold } = state;
      if (uncheckpointed.records === 0 && unwritten === null && !fold.sequences.hasChanged) continue;
      await this.#exclusively(partition, async () => {
        if (this.#states.get(partition) === state) await this.#tryCheckpoint(partition, state, session);
      });
    }
  }

  async #stateOf(partition: number, session: ConsumerSession): Promise<PartitionState> {
    await this.#restore([partition], session);
    const state = this.#states.get(partition);
    if (state !== undefined) return state;
    throw this.#stopped.get(partition) ?? new LeaseLostError(`partition ${partition} is not assigned`);
  }

  #unproven(partitions: readonly number[], session: ConsumerSession): readonly number[] {
    return partitions.filter((partition) => this.#states.get(partition)?.generation !== session.generation);
  }

  async #restore(partitions: readonly number[], session: ConsumerSession): Promise<void> {
    const unproven = this.#unproven(partitions, session);
    if (unproven.length === 0) return;
    const startedAt = this.use.clock.now();
    const { connection, topics } = this.use;
    const unchanged = await this.#unchanged(unproven);
    const missing = unproven.filter((partition) => !unchanged.has(partition));
    for (const partition of missing) {
      this.#states.delete(partition);
      this.#stopped.delete(partition);
    }
    // Checkpoints are long. Without this, each retry would read them, only to find that Postgres is away.
    await this.use.continuity.ask(missing);
    const restored =
      missing.length === 0
        ? NOTHING_RESTORED
        : await restorePartitions({ connection, topics, nowMs: startedAt }, missing, session.generation);
    const states = new Map([...unchanged, ...restored.states]);
    // The inbox may have been replaced, even if the log is the same.
    const wentBack = await this.use.continuity.check(
      [...states].map(([partition, { appended, handledTo, checkpointed }]) => ({
        partition,
        logOffset: appended.logOffset,
        inboxOffset: handledTo,
        checkpointedLogOffset: checkpointed.logOffset,
        isReset: checkpointed.isReset === true,
      })),
    );
    for (const [partition, state] of states) {
      if (wentBack.has(partition)) {
        this.#states.delete(partition);
        continue;
      }
      state.generation = session.generation;
      this.#states.set(partition, state);
      session.stopped?.(topics.inbox, partition, null);
    }
    for (const [partition, error] of [...restored.stopped, ...wentBack]) {
      this.#stopped.set(partition, error);
      session.stopped?.(topics.inbox, partition, error.stop);
    }
    if (missing.length === 0) return;
    this.use.logger.info(
      {
        partitions: [...restored.states.keys()],
        tail_records: [...restored.states.values()].reduce((sum, state) => sum + state.uncheckpointed.records, 0),
        duration_ms: this.use.clock.now() - startedAt,
      },
      'sequencer.restored',
    );
  }

  /**
   * Returns the states that are still right. A state depends only on the log. If the log still ends where this
   * sequencer left it, no other owner has written.
   */
  async #unchanged(partitions: readonly number[]): Promise<ReadonlyMap<number, PartitionState>> {
    const held = partitions.flatMap((partition) => {
      const state = this.#states.get(partition);
      return state === undefined ? [] : [[partition, state] as const];
    });
    if (held.length === 0) return new Map();
    const bounds = await new LogPositions(this.use.connection).bounds(this.use.topics.log);
    return new Map(held.filter(([partition, { appended }]) => appended.logOffset === bounds.get(partition)?.end));
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
      const windowFrom = await this.#readBack(state, chunk);
      await untilLeased(session);
      const { log, deadLetters } = await this.#fold(state, chunk, windowFrom, trace);
      // Dead letters go first, because a restart continues after the last record of the log. Repeated ones do no harm.
      await this.use.appender.append(deadLetters);
      if (deadLetters.length > 0) this.#logDeadLetters(partition, chunk, deadLetters.length);
      if (log.length > 0) {
        await this.#assertUnchanged(partition, state);
        this.#assertLease(partition, state, session);
        const offset = await this.use.writer.write(this.use.topics.log, partition, log);
        trace.end(this.use.clock.now());
        if (offset < state.appended.logOffset) {
          // With these records, the log may end beyond its old end. It stays stopped until it has the lost ones, too.
          this.use.continuity.reached(partition, state.appended.logOffset + log.length);
          this.#stop(partition, state, offset);
        }
        if (offset !== state.appended.logOffset) {
          // Another sequencer wrote here, which must have been frozen. The log shows its records.
          this.use.logger.warn({ partition, offset, expected: state.appended.logOffset }, 'sequencer.foreign_write');
          this.#states.delete(partition);
          return;
        }
        state.appended = { logOffset: offset + log.length, inboxOffset: last.offset + 1 };
        this.use.continuity.reached(partition, state.appended.logOffset);
        state.uncheckpointed.records += log.length;
        state.uncheckpointed.bytes += log.reduce((sum, record) => sum + (record.value?.length ?? 0), 0);
      }
      state.handledTo = last.offset + 1;
    } catch (error) {
      // The fold is ahead of the log, and only the log shows whether the write happened.
      this.#states.delete(partition);
      throw error;
    }
  }

  #logDeadLetters(partition: number, chunk: readonly StoredRecord[], count: number): void {
    const [first, last] = [chunk[0]?.offset, chunk.at(-1)?.offset];
    this.use.logger.warn({ partition, from: first, to: last, records: count }, 'sequencer.dead_letters');
  }

  /** Checks the end of the log after a connection broke: the log may have lost records, or got others. */
  async #assertUnchanged(partition: number, state: PartitionState): Promise<void> {
    const { connection, topics } = this.use;
    const { interruptions } = connection;
    if (state.interruptions === interruptions) return;
    const end = (await new LogPositions(connection).bounds(topics.log)).get(partition)?.end ?? 0;
    if (end < state.appended.logOffset) this.#stop(partition, state, end);
    if (end > state.appended.logOffset) throw new LeaseLostError(`the log of partition ${partition} has grown`);
    state.interruptions = interruptions;
  }

  #stop(partition: number, { appended }: PartitionState, end: number): never {
    const reason = `it ends at ${end}, but ${appended.logOffset} records were in it`;
    const error = new PartitionStoppedError(wentBack(this.use.topics.log, partition, appended.logOffset, end, reason));
    this.#stopped.set(partition, error);
    throw error;
  }

  /**
   * Reads the log between the oldest stamp of the chunk and the window, if a stamp is older than the window.
   * @returns the log offset from which on the window has all ids
   */
  async #readBack(state: PartitionState, chunk: readonly StoredRecord[]): Promise<number> {
    const { ids } = state.fold;
    // All records of a chunk are in one time segment, and see the same window.
    const windowFrom = ids.coversFrom(ids.timeOf(chunk[0]?.timestampMs ?? 0)) ?? state.appended.logOffset;
    let oldest = windowFrom;
    for (const record of chunk) {
      const stamp = checkedTo(record);
      if (stamp !== null && this.#isFollowed(stamp, windowFrom)) oldest = Math.min(oldest, stamp);
    }
    if (oldest < windowFrom) await state.readBack.cover(oldest, windowFrom);
    else state.readBack.rest();
    return windowFrom;
  }

  /** Whether the stamp is the api's, and points before the window. A stamp too far before it is ignored. */
  #isFollowed(stamp: number, windowFrom: number): boolean {
    return stamp < windowFrom && stamp >= windowFrom - (this.use.readBackRecords ?? READ_BACK_RECORDS);
  }

  /** Returns a look-up of ids in the log before the window, for a record that was not checked up to the window. */
  #beforeWindow(
    state: PartitionState,
    record: StoredRecord,
    windowFrom: number,
  ): ((print: IdFingerprint) => boolean) | undefined {
    const stamp = checkedTo(record);
    if (stamp === null || stamp >= windowFrom) return undefined;
    if (this.#isFollowed(stamp, windowFrom)) return (print) => state.readBack.has(print, stamp);
    this.use.connection.metrics.add('gapless_sequencer_old_stamps_total', {});
    return undefined;
  }

  /** A pure fold: no clock, no randomness. */
  async #fold(
    state: PartitionState,
    chunk: readonly StoredRecord[],
    windowFrom: number,
    trace: BatchTrace,
  ): Promise<Folded> {
    const log: LogWrite[] = [];
    const deadLetters: NewRecord[] = [];
    for (const [index, record] of chunk.entries()) {
      if (index % FOLDED_AT_ONCE === FOLDED_AT_ONCE - 1) await setImmediate();
      if (record.unreadable !== undefined) {
        deadLetters.push(unreadableBatchRecord(this.use.topics.deadLetter, record, record.unreadable));
        continue;
      }
      const target = record.headers[TARGET_ENDPOINT_HEADER];
      const targetEndpoint = parseEndpointId(target) ?? null;
      const reading = parseInboxValue(record.value, record.key, record.timestampMs, {
        hasTarget: targetEndpoint !== null,
      });
      if (!reading.ok) {
        deadLetters.push(deadLetterRecord(this.use.topics.deadLetter, record, reading.code, reading.detail));
        continue;
      }
      const { event } = reading;
      if (!this.use.connection.isPlaceOf(event.orgId, record.partition)) {
        // Sequenced here, the org would get a second series of seqs.
        deadLetters.push(this.#misplaced(record));
        continue;
      }
      const appending = state.fold.append(
        { orgId: event.orgId, id: event.id, inboxMs: record.timestampMs },
        state.appended.logOffset + log.length,
        this.#beforeWindow(state, record, windowFrom),
      );
      if (appending.kind === 'repeat') {
        this.use.connection.metrics.add('gapless_sequencer_repeats_total', {});
        continue;
      }
      const { seq, timeMs } = appending;
      log.push(
        logRecord(
          {
            orgId: event.orgId,
            seq,
            id: event.id,
            event: event.event,
            widgetId: event.widgetId,
            targetEndpoint: event.event === 'test' || isExampleId(event.id) ? targetEndpoint : null,
            traceparent: trace.follow(validTraceParent(record.headers[TRACEPARENT_HEADER]), event),
            envelope: envelopeBytes({ ...event, seq }),
          },
          { occurredAt: event.occurredAt, inboxOffset: record.offset, inboxTimeMs: timeMs },
        ),
      );
    }
    return { log, deadLetters };
  }

  #misplaced(record: StoredRecord): NewRecord {
    const key = record.key?.toString() ?? '';
    const detail = `events of org ${key} belong to another partition: use the murmur2 partitioner`;
    return deadLetterRecord(this.use.topics.deadLetter, record, 'wrong_partition', detail);
  }

  /**
   * Makes a checkpoint, and keeps the state if that fails: only a restart needs checkpoints, and the events of the
   * partition must not wait for them.
   * @throws LeaseLostError
   */
  async #tryCheckpoint(partition: number, state: PartitionState, session: ConsumerSession): Promise<void> {
    try {
      await this.#checkpoint(partition, state, session);
    } catch (error) {
      if (error instanceof LeaseLostError) {
        this.#states.delete(partition);
        throw error;
      }
      this.use.connection.metrics.add('gapless_sequencer_checkpoint_failures_total', {});
      const { records } = state.uncheckpointed;
      this.use.logger.warn({ partition, records, err: error }, 'sequencer.checkpoint_failed');
    }
  }

  async #checkpoint(partition: number, state: PartitionState, session: ConsumerSession): Promise<void> {
    const { sequences, ids } = state.fold;
    const before = state.unwritten;
    const lastSeqs = new Map([...(before?.lastSeqs ?? []), ...sequences.takeChanged()]);
    const stretches = [...(before?.ids ?? []).filter(({ beginMs }) => !ids.isOver(beginMs)), ...ids.takeAdded()];
    state.unwritten = { lastSeqs, ids: stretches };
    const now = { ...state.appended, clockMs: ids.clockMs };
    // If the clock was set back, keys may begin after its time.
    const overIds = [...state.idsKeys].filter(([, beginMs]) => ids.isOver(Math.min(beginMs, ids.clockMs)));
    const { batches, idsKeys } = checkpointBatches(
      { lastSeqs, ids: stretches, overIds: overIds.map(([key]) => key) },
      { before: state.checkpointed, now },
    );
    // Also if they are not written in the end: a key that is removed need not exist.
    for (const [key, beginMs] of idsKeys) state.idsKeys.set(key, beginMs);
    for (const batch of batches) {
      this.#assertLease(partition, state, session);
      const offset = await this.use.writer.write(this.use.topics.sequences, partition, batch);
      if (offset !== state.sequencesNext) {
        // Another sequencer wrote here, which must have been frozen: its snapshots are older than these. Or a write of
        // this one, which seemed to have failed.
        this.use.logger.warn({ partition, offset, expected: state.sequencesNext }, 'sequencer.foreign_checkpoint');
        sequences.markAllChanged();
      }
      state.sequencesNext = offset + batch.length;
    }
    state.unwritten = null;
    for (const [key] of overIds) state.idsKeys.delete(key);
    state.checkpointed = now;
    state.uncheckpointed = { records: 0, bytes: 0 };
  }

  /** Refuses a write to a partition that may belong to another sequencer by now. */
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

/** Returns the records from `from` on that fit in one produce request, of one time segment; at least one. */
function takeChunk(
  records: readonly StoredRecord[],
  from: number,
  segmentOf: (timestampMs: number) => number,
): readonly StoredRecord[] {
  const segment = segmentOf(records[from]?.timestampMs ?? 0);
  let bytes = 0;
  let end = from;
  while (end < records.length && end - from < PRODUCE_RECORDS && (end === from || bytes < PRODUCE_BYTES)) {
    const record = records[end];
    if (record !== undefined) {
      if (segmentOf(record.timestampMs) !== segment) break;
      bytes += recordBytes(record);
    }
    end++;
  }
  return records.slice(from, end);
}

/**
 * Waits for a lease that is late. A restoration can keep a busy process from reading the answer to its heartbeat. What was
 * restored would be thrown away for it, and the next restoration would keep it from reading the next one.
 */
async function untilLeased(session: ConsumerSession): Promise<void> {
  for (let left = LATE_LEASE_MS; left > 0 && !session.holdsLease(); left -= LEASE_LOOK_MS) await delay(LEASE_LOOK_MS);
}
