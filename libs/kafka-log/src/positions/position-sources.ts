import type { Position } from '#libs/domain';

/** Reads a group's positions from the data that the group writes. */
export type PositionSource = (topic: string, partitions: readonly number[]) => Promise<ReadonlyMap<number, Position>>;

/** The groups (without prefix) that keep their positions outside of Kafka. */
export class PositionSources {
  readonly #sources = new Map<string, PositionSource>();

  provide(group: string, source: PositionSource): void {
    this.#sources.set(group, source);
  }

  of(group: string): PositionSource | undefined {
    return this.#sources.get(group);
  }
}
