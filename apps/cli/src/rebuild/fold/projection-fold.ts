import type { Position } from '#libs/domain';
import type { ProjectionName } from '#libs/postgres';
import { checkPositions, LogPositions, type KafkaConnection, type Positions } from '#libs/kafka-log';
import { CliError } from '../../cli-error.js';
import type { FoldStretches } from './fold-stretches.js';

export interface ProjectionFoldUse {
  readonly connection: KafkaConnection;
  readonly topic: string;
  readonly fold: FoldStretches;
  /** Notes that everything before an offset is folded, for a partition of which the topic has no record any more. */
  readonly beginAt: (partition: number, offset: number) => Promise<void>;
}

/** Folds a projection again, from the first record that still exists, or from where it was interrupted. */
export class ProjectionFold {
  readonly #reached = new Map<number, number>();

  constructor(
    readonly projection: ProjectionName,
    private readonly use: ProjectionFoldUse,
  ) {}

  /**
   * Goes on where an earlier fold ended.
   * @returns how many records that one folded
   * @throws CliError when the topic holds other records by now
   */
  async goOnFrom(positions: ReadonlyMap<number, Position>): Promise<number> {
    let folded = 0;
    for (const [partition, { begin, verdict }] of await checkPositions(
      this.use.connection,
      this.use.topic,
      positions,
    )) {
      if (verdict.kind !== 'fits') {
        const what = verdict.kind === 'removed' ? `records up to ${verdict.to} are gone` : verdict.reason;
        throw new CliError(
          `the interrupted rebuild does not fit ${this.use.topic}/${partition}: ${what}. Run it with --start-over.`,
        );
      }
      const next = positions.get(partition)?.next ?? 0;
      this.#reached.set(partition, next);
      folded += Math.max(0, next - begin);
    }
    return folded;
  }

  /** Returns the offset after the last record of each partition, also of one that retention has emptied. */
  async ends(): Promise<Positions> {
    const bounds = await new LogPositions(this.use.connection).bounds(this.use.topic);
    return new Map([...bounds].map(([partition, { end }]) => [partition, end]));
  }

  /** Returns how many records are left up to the targets. */
  distanceTo(targets: Positions): number {
    return [...targets].reduce((sum, [partition, to]) => sum + Math.max(0, to - this.#at(partition)), 0);
  }

  /** Folds up to the targets. @throws CliError when the topic ends before them */
  async foldTo(targets: Positions): Promise<void> {
    const stretches = [...targets]
      .filter(([partition, to]) => to > this.#at(partition))
      .map(([partition, to]) => ({ topic: this.use.topic, partition, from: this.#at(partition), to }));
    if (stretches.length === 0) return;
    const ends = await this.use.fold(stretches);
    for (const { partition, to } of stretches) {
      const end = ends.get(`${this.use.topic}/${partition}`) ?? 0;
      if (end < to) {
        throw new CliError(
          `${this.use.topic}/${partition} ends at ${end}, but the ${this.projection} projection has read up to ${to}: ` +
            'the topic lost records that only the served tables still have',
        );
      }
      if (!this.#reached.has(partition)) await this.use.beginAt(partition, to);
      this.#reached.set(partition, to);
    }
  }

  #at(partition: number): number {
    return this.#reached.get(partition) ?? 0;
  }
}
