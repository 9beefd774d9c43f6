import type { RoutedPlace } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** Stores how far each partition of the log was routed. */
export class RouterPlaces {
  constructor(private readonly store: Store) {}

  /** Returns `undefined` if no record of the partition was routed. */
  async find(topic: string, partition: number): Promise<RoutedPlace | undefined> {
    const [row] = await this.store.prepared<{ next_offset: string; appended_until_ms: string }>(
      'router_place',
      `select next_offset, (extract(epoch from appended_until) * 1000)::bigint as appended_until_ms
       from router_places where topic = $1 and partition = $2`,
      [topic, partition],
    );
    if (row === undefined) return undefined;
    return { nextOffset: Number(row.next_offset), appendedUntilMs: Number(row.appended_until_ms) };
  }

  /** Returns the place of each partition. */
  async all(topic: string): Promise<ReadonlyMap<number, RoutedPlace>> {
    const rows = await this.store.query<{ partition: number; next_offset: string; appended_until_ms: string }>(
      `select partition, next_offset, (extract(epoch from appended_until) * 1000)::bigint as appended_until_ms
       from router_places where topic = $1 order by partition`,
      [topic],
    );
    return new Map(
      rows.map(({ partition, next_offset: next, appended_until_ms: untilMs }) => [
        partition,
        { nextOffset: Number(next), appendedUntilMs: Number(untilMs) },
      ]),
    );
  }

  /** Lets a partition be routed again from an offset on. Call it while no router runs. */
  async moveBack(topic: string, partition: number, nextOffset: number): Promise<void> {
    await this.store.query(
      `with moved as (
         update router_places set next_offset = $3 where topic = $1 and partition = $2 and next_offset > $3
       ) select 1`,
      [topic, partition, nextOffset],
    );
  }

  /** Stores the places. A router that lost a partition without knowing it cannot move its place back. */
  async save(topic: string, places: ReadonlyMap<number, RoutedPlace>): Promise<void> {
    await this.store.prepared(
      'save_router_places',
      `insert into router_places (topic, partition, next_offset, appended_until)
       select $1, partition, next_offset, to_timestamp(appended_ms / 1000.0)
       from unnest($2::int[], $3::bigint[], $4::bigint[]) as row(partition, next_offset, appended_ms)
       order by partition
       on conflict (topic, partition) do update set
         next_offset = excluded.next_offset, appended_until = excluded.appended_until
       where router_places.appended_until <= excluded.appended_until`,
      [
        topic,
        [...places.keys()],
        [...places.values()].map(({ nextOffset }) => nextOffset),
        [...places.values()].map(({ appendedUntilMs }) => appendedUntilMs),
      ],
    );
  }
}
