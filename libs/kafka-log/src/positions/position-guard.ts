import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, type Anchor, type PartitionStop, type Position, type PositionVerdict } from '#libs/domain';
import { backOffMs, type HealthBoard, type Logger } from '#libs/runtime';
import { anchorOf, anchorText } from '../reading/anchor.js';
import { checkPositions, type CheckedPosition } from './check-positions.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { hasLeader } from '../reading/known-values.js';
import type { PositionSource } from './position-sources.js';
import type { StoredRecord } from '../records/record.js';
import type { StoppedPartitions } from './stopped-partitions.js';

/**
 * Milliseconds before a partition that seems to have gone back is checked again. A newly elected leader may briefly
 * show an earlier end.
 */
const CONFIRM_AFTER_MS = 500;
/** How often a partition that went back is checked again, milliseconds: its files may have been restored. */
const LOOK_AGAIN_MS = 5_000;

/**
 * How often a source that is not the committed offsets is asked again, milliseconds. A database that lost its last commits in a
 * failover, or was restored, must not wait for the next record of each partition.
 */
const ASK_SOURCE_MS = 10_000;

/** The command that shows what is wrong with partitions, and how to repair them. */
export const REPAIR_COMMAND = 'npm run -s gapless -- repair';

export interface PositionGuardUse {
  readonly connection: KafkaConnection;
  readonly groupId: string;
  readonly group: string;
  readonly logger: Logger;
  readonly health: HealthBoard;
  readonly stopped: StoppedPartitions;
  /** Returns where the group continues after an assignment. */
  readonly source: PositionSource;
  /** Whether the source is not the committed offsets: they can be ahead of it, and nothing would read what is between. */
  readonly startsAtSource: boolean;
  /** Pauses fetching of a partition, or resumes it. */
  readonly hold: (topic: string, partition: number, isHeld: boolean) => void;
  readonly moveTo: (topic: string, partition: number, offset: number) => void;
}

interface Standing {
  readonly topic: string;
  readonly partition: number;
  /** This member's latest position; `null` while only the source knows it. */
  position: Position | null;
  /** This member's latest position in earlier assignments. Its handler may still know the records before it. */
  remembered: Position | null;
  /** Everything before it was in the source once; `null` while that is unknown. */
  reached: number | null;
  /** The source's last answer. A group that loses its offsets forgets what it stopped for. */
  sourced: Position | undefined;
  /** The last records of the batches that are not committed yet. */
  anchors: Anchor[];
  state: 'unchecked' | 'fits' | 'stopped';
  /** The requested offset that the brokers did not have. */
  asked: number | null;
  /** Whether the last check moved the partition to its source's position. */
  isMoved: boolean;
  /** Whether the last check found no leader, so that the partition could not be checked. */
  isLeaderless: boolean;
  settled: Settlement;
}

/**
 * Whether records may be handled: `held` if the partition waits, `moved` if they were fetched from another place than
 * where the check let the partition continue.
 */
export type Admission = 'admitted' | 'held' | 'moved';

/** A promise with its resolve function. */
interface Settlement {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function aSettlement(): Settlement {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/**
 * Stops a consumer from reading on in a partition that lost or changed records. It checks each position after an
 * assignment, after a broken connection, and when an offset is out of range. A partition that went back is held; the
 * others continue.
 */
export class PositionGuard {
  readonly #standings = new Map<string, Standing>();
  /** This member's latest positions in the partitions that it has had, by topic and partition. */
  readonly #remembered = new Map<string, Position>();
  /** Up to where removed records are counted, by topic and partition. A check may find them again. */
  readonly #removedTo = new Map<string, number>();
  #generation = 0;
  #interruptions = 0;
  #checking: Promise<void> | null = null;
  #lookedAt = -Infinity;
  #askedSourceAt = -Infinity;
  readonly #stopping = new AbortController();

  constructor(private readonly use: PositionGuardUse) {
    use.connection.metrics.add('gapless_records_removed_unread_total', { group: use.group }, 0);
  }

  assigned(assignment: Readonly<Record<string, readonly number[]>>): void {
    for (const [key, { position, remembered }] of this.#standings) {
      const latest = furthest(position, remembered);
      if (latest !== null) this.#remembered.set(key, latest);
    }
    this.released();
    this.#interruptions = this.use.connection.interruptions;
    for (const [topic, partitions] of Object.entries(assignment)) {
      for (const partition of partitions) {
        this.#standings.set(`${topic}/${partition}`, {
          topic,
          partition,
          position: null,
          remembered: this.#remembered.get(`${topic}/${partition}`) ?? null,
          reached: null,
          sourced: undefined,
          anchors: [],
          state: 'unchecked',
          asked: null,
          isMoved: false,
          isLeaderless: false,
          settled: aSettlement(),
        });
      }
    }
    void this.#check();
  }

  released(): void {
    this.#generation++;
    for (const standing of this.#standings.values()) standing.settled.resolve();
    this.#standings.clear();
    this.use.stopped.clear();
    this.use.health.forget(this.#part);
  }

  /** Lets nobody wait for a check any more, because the consumer stops: what is not checked yet is not admitted. */
  giveUp(): void {
    this.#stopping.abort();
    for (const { settled } of this.#standings.values()) settled.resolve();
  }

  /** Ends checking. Resolves once no request to the brokers is under way. */
  async stop(): Promise<void> {
    this.giveUp();
    this.released();
    await this.#checking;
  }

  /**
   * Checks after broken connections without records, checks again whether stopped partitions are restored, and checks
   * partitions that had no leader.
   */
  tick(): void {
    this.#noticeInterruptions();
    const standings = [...this.#standings.values()];
    const isStopped = standings.some(({ state }) => state === 'stopped');
    if (isStopped && performance.now() - this.#lookedAt > LOOK_AGAIN_MS) void this.#check();
    if (standings.some(({ state, isLeaderless }) => state === 'unchecked' && isLeaderless)) void this.#check();
    if (this.use.startsAtSource && performance.now() - this.#askedSourceAt > ASK_SOURCE_MS) void this.#askSource();
  }

  /** Whether records of the partition may be handled. Waits for the next check, also if that finds no leader. */
  async admits(topic: string, partition: number): Promise<Admission> {
    this.#noticeInterruptions();
    const standing = this.#standings.get(`${topic}/${partition}`);
    if (standing === undefined) return 'admitted';
    if (standing.state === 'unchecked' && !this.#stopping.signal.aborted) {
      await standing.settled.promise;
      if (standing.isMoved) return 'moved';
    }
    return standing.state === 'fits' ? 'admitted' : 'held';
  }

  /** Remembers the last record that was handed over. */
  seen(topic: string, partition: number, last: StoredRecord): void {
    const standing = this.#standings.get(`${topic}/${partition}`);
    if (standing === undefined || last.offset < (standing.position?.next ?? 0)) return;
    const anchor = anchorOf(last);
    standing.position = { next: last.offset + 1, anchor };
    standing.anchors.push(anchor);
  }

  /** Notes that the records before this offset were handled, and so are in the source. */
  handled(topic: string, partition: number, nextOffset: number): void {
    const standing = this.#standings.get(`${topic}/${partition}`);
    // Offsets without records move no projection.
    if (standing?.position) standing.reached = Math.min(nextOffset, standing.position.next);
  }

  /** Returns the metadata to commit with the offset: the last remembered record before it. */
  metadataOf(topic: string, partition: number, nextOffset: number): string | null {
    const standing = this.#standings.get(`${topic}/${partition}`);
    const index = standing?.anchors.findLastIndex(({ offset }) => offset < nextOffset) ?? -1;
    if (standing === undefined || index === -1) return null;
    standing.anchors = standing.anchors.slice(index);
    const [anchor] = standing.anchors;
    return anchor === undefined ? null : anchorText(anchor);
  }

  /** Notes that the brokers do not have the requested offset. */
  outOfRange(topic: string, partition: number, offset: number): void {
    const standing = this.#standings.get(`${topic}/${partition}`);
    if (standing === undefined || standing.state === 'stopped') return;
    standing.asked = offset;
    this.use.hold(topic, partition, true);
    this.#doubt([standing]);
  }

  /** The position may differ from this member's: asks the source again. */
  doubt(topic: string, partition: number): void {
    const standing = this.#standings.get(`${topic}/${partition}`);
    if (standing === undefined || standing.state === 'stopped') return;
    [standing.position, standing.remembered, standing.reached] = [null, null, null];
    this.#remembered.delete(`${topic}/${partition}`);
    this.#doubt([standing]);
  }

  #noticeInterruptions(): void {
    const { interruptions } = this.use.connection;
    if (interruptions === this.#interruptions) return;
    this.#interruptions = interruptions;
    this.#doubt([...this.#standings.values()].filter(({ state }) => state === 'fits'));
  }

  #doubt(standings: readonly Standing[]): void {
    for (const standing of standings) {
      if (standing.state === 'unchecked') continue;
      standing.state = 'unchecked';
      standing.isMoved = false;
      standing.isLeaderless = false;
      standing.settled = aSettlement();
    }
    void this.#check();
  }

  /** Doubts the partitions in which the source lacks what it had. */
  async #askSource(): Promise<void> {
    this.#askedSourceAt = performance.now();
    const generation = this.#generation;
    const standings = [...this.#standings.values()].filter(
      ({ state, reached }) => state === 'fits' && reached !== null,
    );
    // Before the question: what is handled meanwhile may be missing in the answer.
    const before = new Map(standings.map((standing) => [standing, standing.reached ?? 0]));
    try {
      for (const topic of new Set(standings.map((standing) => standing.topic))) {
        const some = standings.filter((standing) => standing.topic === topic);
        const sourced = await this.use.source(
          topic,
          some.map(({ partition }) => partition),
        );
        if (generation !== this.#generation) return;
        for (const standing of some) {
          const { partition } = standing;
          const [from = 0, to = Infinity] = [before.get(standing), sourced.get(partition)?.next];
          // It may have been doubted meanwhile.
          if (to >= from || standing.reached === null) continue;
          this.use.logger.warn({ group: this.use.groupId, topic, partition, from, to }, 'positions.source_went_back');
          this.doubt(topic, partition);
        }
      }
    } catch {
      // What watches the database reports it.
    }
  }

  async #check(): Promise<void> {
    if (this.#checking !== null) return this.#checking;
    this.#checking = this.#checkUntilKnown();
    return this.#checking;
  }

  async #checkUntilKnown(): Promise<void> {
    let failures = 0;
    for (let isFirst = true; isFirst || this.#unchecked().length > 0; isFirst = false) {
      const generation = this.#generation;
      try {
        await this.#checkOnce();
        failures = 0;
        this.use.health.forget(this.#part);
      } catch (error) {
        if (this.#stopping.signal.aborted) break;
        if (generation !== this.#generation) continue;
        const waitMs = backOffMs(++failures);
        const reason = messageOf(error);
        this.use.health.waiting(this.#part, `checking where it goes on: ${reason}`);
        this.use.logger.warn({ group: this.use.groupId, reason, wait_ms: waitMs }, 'positions.waiting');
        await this.#rest(waitMs);
      }
    }
    // At once, so that what becomes unchecked from here on begins a new check.
    this.#checking = null;
  }

  /** Waits for that long, or until checking ends. */
  async #rest(waitMs: number): Promise<void> {
    await delay(waitMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  /** Without those that have no leader: the others need not wait for it. */
  #unchecked(): readonly Standing[] {
    return [...this.#standings.values()].filter(({ state, isLeaderless }) => state === 'unchecked' && !isLeaderless);
  }

  async #checkOnce(): Promise<void> {
    const generation = this.#generation;
    this.#lookedAt = performance.now();
    const doubtful = [...this.#standings.values()].filter(({ state }) => state !== 'fits');
    for (const topic of new Set(doubtful.map((standing) => standing.topic))) {
      const standings = doubtful.filter((standing) => standing.topic === topic);
      const positions = await this.#positionsOf(topic, standings);
      let checked = await checkPositions(this.use.connection, topic, positions);
      const isNews = standings.some(
        ({ partition, state }) =>
          state === 'unchecked' &&
          hasLeader(checked, partition) &&
          checked.get(partition)?.verdict.kind === 'went back',
      );
      if (isNews) {
        await this.#rest(CONFIRM_AFTER_MS);
        checked = await checkPositions(this.use.connection, topic, positions);
      }
      if (generation !== this.#generation) return;
      for (const standing of standings) {
        standing.isLeaderless = !hasLeader(checked, standing.partition);
        if (standing.isLeaderless) waitForNextCheck(standing);
        else this.#settle(standing, checked.get(standing.partition));
      }
    }
  }

  async #positionsOf(topic: string, standings: readonly Standing[]): Promise<ReadonlyMap<number, Position>> {
    const unknown = standings.filter(({ position }) => position === null).map(({ partition }) => partition);
    const sourced = unknown.length === 0 ? new Map<number, Position>() : await this.use.source(topic, unknown);
    return new Map(
      standings.flatMap((standing) => {
        const { partition, position, asked } = standing;
        standing.sourced = sourced.get(partition) ?? standing.sourced;
        const known = position ?? furthest(standing.sourced ?? null, standing.remembered) ?? undefined;
        if (known === undefined) return asked === null ? [] : [[partition, { next: asked, anchor: null }] as const];
        return [[partition, { ...known, next: asked ?? known.next }] as const];
      }),
    );
  }

  #settle(standing: Standing, checked: CheckedPosition | undefined): void {
    const { topic, partition, asked } = standing;
    const verdict: PositionVerdict = checked?.verdict ?? { kind: 'fits' };
    if (verdict.kind === 'went back') {
      standing.state = 'stopped';
      this.use.hold(topic, partition, true);
      this.use.stopped.stopped(topic, partition, wentBack(topic, partition, verdict), 'position');
      standing.settled.resolve();
      return;
    }
    if (verdict.kind === 'removed') this.#skipRemoved(standing, verdict);
    // Until a record is handed over, the one before the source's position is the last remembered one.
    const before = standing.sourced?.anchor ?? null;
    if (standing.anchors.length === 0 && before !== null) standing.anchors = [before];
    const begins = standing.position === null && asked === null ? standing.sourced : undefined;
    if (this.use.startsAtSource && begins !== undefined && checked !== undefined) {
      standing.reached = begins.next;
      this.use.moveTo(topic, partition, Math.max(begins.next, checked.begin));
      standing.isMoved = true;
    }
    const wasHeld = asked !== null || standing.state === 'stopped';
    standing.asked = null;
    standing.state = 'fits';
    this.use.stopped.goesOn(topic, partition, 'position');
    if (wasHeld) this.use.hold(topic, partition, false);
    standing.settled.resolve();
  }

  /** Counts the records that retention removed, and continues after them. */
  #skipRemoved(
    { topic, partition, asked }: Standing,
    { from, to }: { readonly from: number; readonly to: number },
  ): void {
    const { connection, group, groupId, logger } = this.use;
    const first = Math.max(from, this.#removedTo.get(`${topic}/${partition}`) ?? 0);
    if (first < to) {
      this.#removedTo.set(`${topic}/${partition}`, to);
      connection.metrics.add('gapless_records_removed_unread_total', { group }, to - first);
      logger.error({ group: groupId, topic, partition, from: first, to }, 'consumer.records_lost');
    }
    if (asked !== null) this.use.moveTo(topic, partition, to);
  }

  get #part(): string {
    return `${this.use.groupId} positions`;
  }
}

/**
 * Lets the records that wait for the check go back. They are fetched again once the partition has a leader. If they
 * waited, the group could not give the partition to another member until then.
 */
function waitForNextCheck(standing: Standing): void {
  standing.settled.resolve();
  standing.settled = aSettlement();
}

function furthest(one: Position | null, other: Position | null): Position | null {
  return one === null || (other !== null && other.next > one.next) ? other : one;
}

function wentBack(
  topic: string,
  partition: number,
  { expected, found, reason }: PositionVerdict & { readonly kind: 'went back' },
): PartitionStop {
  return {
    code: 'went_back',
    topic,
    partition,
    expectedOffset: expected,
    foundOffset: found,
    reason: `the partition went back: ${reason}.`,
    command: REPAIR_COMMAND,
  };
}
