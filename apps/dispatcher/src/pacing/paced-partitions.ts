import { setTimeout as delay } from 'node:timers/promises';
import { hasLeader, type Positions } from '#libs/kafka-log';
import type { PacedOwners } from '#libs/postgres';
import type { Logger } from '#libs/runtime';

/** The window in which attempts are counted, and what clocks and timers may be off. */
export const WINDOW_AND_SLACK_MS = 1_250;
/** How often to look whether an earlier owner has left. */
const LOOK_EVERY_MS = 100;
/** The same while Kafka cannot say where the facts of a partition end. Each question opens a connection. */
const LOOK_AFTER_FAILURE_MS = 1_000;
/** How long a round waits for an answer about partitions that are not owned yet. A later one finds it. */
const PATIENCE_MS = 50;
/** Kafka is asked again if it has not answered by then. */
const LONGEST_QUESTION_MS = 10_000;
/** How often to make sure that Postgres has the owner: it may have been put back. */
const KEEP_EVERY_MS = 1_000;

/** The part of a consumer session that decides who makes paced attempts. */
export interface PacedSession {
  readonly generation: number;
  readonly partitions: readonly number[];
}

export interface PacedPartitionsDependencies {
  /** The session of this process; `undefined` while its partitions may already belong to others. */
  readonly session: () => PacedSession | undefined;
  /** The assignment of this process, also while attempts may not begin; `undefined` without one. */
  readonly assignment: () => number | undefined;
  readonly owners: Pick<PacedOwners, 'take' | 'seize' | 'leave'>;
  readonly topic: string;
  /** Returns an id that nothing else has. */
  readonly anId: () => string;
  /** The longest time that an attempt takes. */
  readonly attemptMs: number;
  /** The ends of the partitions of the delivery facts. */
  readonly factsEnd: () => Promise<Positions>;
  /** How far the facts are projected. */
  readonly projectedTo: () => Promise<Positions>;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/** A partition whose attempts of other owners are over. */
interface Owned {
  /** From then on, no attempt of another owner counts for a limit per second. */
  readonly quietFromMs: number;
  /** Up to where the facts must be projected. */
  readonly end: number;
  isProjected: boolean;
}

/** What this process owns in one assignment. */
interface Tenure {
  readonly generation: number;
  readonly owner: string;
  readonly sinceMs: number;
  lookAtMs: number;
  /** Until when it waits for Kafka to say where the facts of earlier owners end; `-Infinity` while it does not ask. */
  asksUntilMs: number;
  keepAtMs: number;
  /** Partitions that it may leave: it certainly had them while they were stored as its own. */
  readonly entered: Set<number>;
  readonly owned: Map<number, Owned>;
}

/**
 * Says which partitions this process may pace. The process that had a partition before may still have attempts in
 * flight, whose number it alone knows. It leaves the partition when they are over, and the new one takes it then. If it
 * does not leave, the new one waits for as long as an attempt may take. Both wait until its outcomes are projected.
 */
export class PacedPartitions {
  #tenures: Tenure[] = [];
  #isEnding = false;
  /** The last statement that takes or seizes partitions, and what follows from its answer. One is under way at a time. */
  #asking: Promise<unknown> = Promise.resolve();

  constructor(private readonly use: PacedPartitionsDependencies) {}

  /**
   * Returns the partitions in which attempts may begin now. In each, limits per second hold from the given time on;
   * before it, nothing that has such a limit may begin.
   */
  async ready(): Promise<ReadonlyMap<number, number>> {
    const session = this.#session();
    if (session === undefined) return new Map();
    const tenure = this.#tenureOf(session);
    await this.#tryToEnter(tenure, session);
    await this.#lookAtProjection(tenure);
    // Another assignment may have come meanwhile.
    if (!this.#isCurrent(tenure)) return new Map();
    const ready = [...tenure.owned].filter(([, { isProjected }]) => isProjected);
    return new Map(ready.map(([partition, { quietFromMs }]) => [partition, quietFromMs]));
  }

  /** Stores again what this process owns, in case Postgres was put back. */
  async keep(): Promise<void> {
    const session = this.#session();
    if (session === undefined) return;
    const tenure = this.#tenureOf(session);
    const kept = [...tenure.owned.keys()];
    if (kept.length === 0 || this.use.nowMs() < tenure.keepAtMs) return;
    tenure.keepAtMs = this.use.nowMs() + KEEP_EVERY_MS;
    await this.#ask(() => this.#seize(tenure, kept));
  }

  /**
   * Leaves the partitions of earlier assignments in which this process has no attempt under way.
   * @param isBusy whether an attempt of the partition is under way, or its outcome is not in Kafka yet
   * @param isEnding whether the process begins no more attempts in its current assignment either
   */
  async leave(isBusy: (partition: number) => boolean, isEnding = false): Promise<void> {
    if (isEnding) this.#isEnding = true;
    const current = this.#isEnding ? undefined : this.use.assignment();
    // The end of the process may come at any moment.
    await this.#asking.catch(() => undefined);
    for (const { generation, owner, entered } of this.#tenures) {
      const left = generation === current ? [] : [...entered].filter((partition) => !isBusy(partition));
      if (left.length === 0) continue;
      await this.use.owners.leave(owner, this.use.topic, left);
      for (const partition of left) entered.delete(partition);
    }
    this.#tenures = this.#tenures.filter(({ generation, entered }) => generation === current || entered.size > 0);
  }

  #session(): PacedSession | undefined {
    return this.#isEnding ? undefined : this.use.session();
  }

  #tenureOf({ generation }: PacedSession): Tenure {
    const known = this.#tenures.find((tenure) => tenure.generation === generation);
    if (known !== undefined) return known;
    const tenure: Tenure = {
      generation,
      owner: this.use.anId(),
      sinceMs: this.use.nowMs(),
      lookAtMs: -Infinity,
      asksUntilMs: -Infinity,
      keepAtMs: -Infinity,
      entered: new Set(),
      owned: new Map(),
    };
    this.#tenures.push(tenure);
    return tenure;
  }

  /** Neither a failure nor a broker that hangs keeps those waiting that it owns already. */
  async #tryToEnter(tenure: Tenure, session: PacedSession): Promise<void> {
    try {
      await this.#enter(tenure, session);
    } catch (error) {
      if (tenure.owned.size === 0) throw error;
      this.#noteFailure(tenure, error);
    }
  }

  #noteFailure(tenure: Tenure, error: unknown): void {
    tenure.lookAtMs = this.use.nowMs() + LOOK_AFTER_FAILURE_MS;
    this.use.logger.warn({ err: error }, 'dispatcher.pace_waits');
  }

  /** Becomes the owner of the partitions whose attempts of others are over. */
  async #enter(tenure: Tenure, { partitions }: PacedSession): Promise<void> {
    const { nowMs } = this.use;
    const { owned } = tenure;
    const missing = partitions.filter((partition) => !owned.has(partition));
    if (missing.length === 0 || nowMs() < Math.max(tenure.asksUntilMs, tenure.lookAtMs)) return;
    tenure.lookAtMs = nowMs() + LOOK_EVERY_MS;
    const isOver = nowMs() - tenure.sinceMs >= this.use.attemptMs + WINDOW_AND_SLACK_MS;
    const found = await this.#ask(() => (isOver ? this.#seize(tenure, missing) : this.#take(tenure, missing)));
    if (found.length === 0 || !this.#isCurrent(tenure)) return;
    // The attempts of an owner that has left count for limits per second.
    const quietFromMs = isOver ? nowMs() : nowMs() + WINDOW_AND_SLACK_MS;
    await Promise.race([this.#own(tenure, found, quietFromMs), delay(PATIENCE_MS)]);
  }

  /** Notes where the facts of earlier owners end, or that Kafka does not say. */
  async #own(tenure: Tenure, found: readonly number[], quietFromMs: number): Promise<void> {
    if (tenure.asksUntilMs !== -Infinity)
      this.#noteFailure(tenure, new Error('Kafka does not say where the facts end'));
    tenure.asksUntilMs = this.use.nowMs() + LONGEST_QUESTION_MS;
    try {
      const ends = await this.use.factsEnd();
      for (const partition of found) {
        if (hasLeader(ends, partition)) {
          tenure.owned.set(partition, { quietFromMs, end: ends.get(partition) ?? 0, isProjected: false });
        } else {
          // It is found again by the next look.
          tenure.lookAtMs = this.use.nowMs() + LOOK_AFTER_FAILURE_MS;
        }
      }
    } catch (error) {
      this.#noteFailure(tenure, error);
    } finally {
      tenure.asksUntilMs = -Infinity;
    }
  }

  #ask(statement: () => Promise<readonly number[]>): Promise<readonly number[]> {
    const asking = statement();
    this.#asking = asking;
    return asking;
  }

  /** Takes what has been left. Nobody was at work there, so this process may leave it also if the assignment has ended. */
  async #take({ owner, entered }: Tenure, partitions: readonly number[]): Promise<readonly number[]> {
    const taken = await this.use.owners.take(owner, this.use.topic, partitions);
    for (const partition of taken) entered.add(partition);
    return taken;
  }

  async #seize(tenure: Tenure, partitions: readonly number[]): Promise<readonly number[]> {
    const { owner, entered } = tenure;
    const had = new Set(partitions.filter((partition) => entered.has(partition)));
    // Without an answer, this may come late, and take the partitions from their next owner.
    for (const partition of partitions) entered.delete(partition);
    const seized = await this.use.owners.seize(owner, this.use.topic, partitions);
    // If the assignment has ended meanwhile, another process may be at work: this one must not leave what it took from it.
    const mayLeave = this.#isCurrent(tenure)
      ? partitions
      : partitions.filter((partition) => had.has(partition) && !seized.includes(partition));
    for (const partition of mayLeave) entered.add(partition);
    return partitions;
  }

  #isCurrent({ generation }: Tenure): boolean {
    return this.#session()?.generation === generation;
  }

  async #lookAtProjection({ owned }: Tenure): Promise<void> {
    const behind = [...owned].filter(([, { isProjected }]) => !isProjected);
    if (behind.length === 0) return;
    const projectedTo = behind.some(([, { end }]) => end > 0)
      ? await this.use.projectedTo()
      : new Map<number, number>();
    for (const [partition, one] of behind) one.isProjected = (projectedTo.get(partition) ?? 0) >= one.end;
  }
}
