import type { Position } from '#libs/domain';

/** Where a group goes on in the partitions, as what it writes says. */
export type PositionSource = (topic: string, partitions: readonly number[]) => Promise<ReadonlyMap<number, Position>>;

/** Groups (without prefix) that keep their positions elsewhere than in Kafka. */
export class PositionSources {
  readonly #sources = new Map<string, PositionSource>();

  provide(group: string, source: PositionSource): void {
    this.#sources.set(group, source);
  }

  of(group: string): PositionSource | undefined {
    return this.#sources.get(group);
  }
}
