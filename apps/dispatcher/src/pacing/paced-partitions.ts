import type { Positions } from '#libs/kafka-log';

/** The window in which attempts are counted, and what clocks and timers may be off. */
const WINDOW_AND_SLACK_MS = 1_250;

/** The part of a consumer session that decides who makes paced attempts. */
export interface PacedSession {
  readonly generation: number;
  readonly partitions: readonly number[];
}

export interface PacedPartitionsDependencies {
  /** The session of this process; `undefined` while its partitions may already belong to others. */
  readonly session: () => PacedSession | undefined;
  /** The longest time that an attempt takes. */
  readonly attemptMs: number;
  /** The ends of the partitions of the delivery facts. */
  readonly factsEnd: () => Promise<Positions>;
  /** How far the facts are projected. */
  readonly projectedTo: () => Promise<Positions>;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/**
 * Says which partitions this process may pace. The process that had a partition before may still have attempts in
 * flight, whose number it alone knows. So the new one waits until they are over, and until their outcomes are projected.
 */
export class PacedPartitions {
  #generation: number | null = null;
  #sinceMs = 0;
  /** Up to where the facts must be projected; `null` until the attempts of others are over. */
  #ends: Positions | null = null;
  #projectedTo: Positions = new Map();

  constructor(private readonly use: PacedPartitionsDependencies) {}

  async ready(): Promise<ReadonlySet<number>> {
    const session = this.use.session();
    if (session === undefined) return new Set();
    if (session.generation !== this.#generation) {
      this.#generation = session.generation;
      this.#sinceMs = this.use.nowMs();
      this.#ends = null;
      this.#projectedTo = new Map();
    }
    if (this.use.nowMs() - this.#sinceMs < this.use.attemptMs + WINDOW_AND_SLACK_MS) return new Set();
    const ends = this.#ends ?? (await this.use.factsEnd());
    // Another assignment may have come meanwhile.
    if (this.use.session()?.generation !== this.#generation) return new Set();
    this.#ends = ends;
    const isBehind = (partition: number) => (this.#projectedTo.get(partition) ?? 0) < (ends.get(partition) ?? 0);
    if (session.partitions.some(isBehind)) this.#projectedTo = await this.use.projectedTo();
    if (this.use.session()?.generation !== this.#generation) return new Set();
    return new Set(session.partitions.filter((partition) => !isBehind(partition)));
  }
}
