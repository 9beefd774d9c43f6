import type { QueryRunner } from 'typeorm';
import { SeqGate, seqFromText, type EventId, type OrgId, type Seq, type WidgetId } from '#libs/domain';
import { DayPartitions } from './day-partitions.js';
import { lockOffset, saveOffset, type Projected, type Stretch } from './projection-offsets.js';
import type { Store } from './store.js';

/** A record of the log, as the feed stores it. */
export interface FeedEvent {
  readonly offset: number;
  readonly orgId: OrgId;
  readonly seq: Seq;
  readonly id: EventId;
  readonly event: string;
  readonly widgetId: WidgetId | null;
  /** Epoch milliseconds at which the broker appended it. */
  readonly appendedAtMs: number;
  readonly envelope: Buffer;
}

/** The channel on which each new head of an org is told, as `<org id>:<seq>`. */
export const HEADS_CHANNEL = 'gapless_heads';

/** Folds the log into the feed: each event once, in order, together with the offset it stands for. */
export class FeedProjection {
  readonly #partitions: DayPartitions;

  constructor(private readonly store: Store) {
    this.#partitions = new DayPartitions(store);
  }

  /** @param events of one partition of the log, ascending */
  async apply(stretch: Stretch, events: readonly FeedEvent[]): Promise<Projected> {
    await this.#partitions.ensure(events.map((event) => event.appendedAtMs));
    return this.store.transaction(async (runner): Promise<Projected> => {
      const goesOnAt = await lockOffset(runner, stretch);
      if (goesOnAt !== null && goesOnAt < stretch.firstOffset) return { kind: 'behind', nextOffset: goesOnAt };
      if (goesOnAt !== null && goesOnAt >= stretch.nextOffset) return { kind: 'applied' };
      const unseen = events.filter((event) => event.offset >= (goesOnAt ?? 0));
      const { fresh } = (await this.#gate(runner, unseen)).sift(unseen);
      await this.#insert(runner, fresh);
      await this.#moveHeads(runner, new Map(fresh.map((event) => [event.orgId, event.seq])));
      await saveOffset(runner, stretch);
      return { kind: 'applied' };
    });
  }

  async #gate(runner: QueryRunner, events: readonly FeedEvent[]): Promise<SeqGate> {
    const orgIds = [...new Set(events.map((event) => event.orgId))];
    const rows = (await runner.query('select org_id, last_seq from org_heads where org_id = any($1)', [orgIds])) as {
      org_id: OrgId;
      last_seq: string;
    }[];
    return new SeqGate(rows.map((row) => [row.org_id, seqFromText(row.last_seq)]));
  }

  async #insert(runner: QueryRunner, events: readonly FeedEvent[]): Promise<void> {
    if (events.length === 0) return;
    await runner.query(
      `insert into events (org_id, seq, event_id, event_type, widget_id, appended_at, envelope)
       select o, s, i, t, w, to_timestamp(a / 1000.0), e
       from unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::uuid[], $6::bigint[], $7::bytea[])
         as event(o, s, i, t, w, a, e)`,
      [
        events.map((event) => event.orgId),
        events.map((event) => event.seq),
        events.map((event) => event.id),
        events.map((event) => event.event),
        events.map((event) => event.widgetId),
        events.map((event) => event.appendedAtMs),
        events.map((event) => event.envelope),
      ],
    );
  }

  /** Readers that wait for events are told by the commit, so none can read before there is something to read. */
  async #moveHeads(runner: QueryRunner, heads: ReadonlyMap<OrgId, Seq>): Promise<void> {
    if (heads.size === 0) return;
    await runner.query(
      `with moved as (
         insert into org_heads (org_id, last_seq) select * from unnest($1::uuid[], $2::bigint[])
         on conflict (org_id) do update set last_seq = excluded.last_seq
         returning org_id, last_seq
       )
       select pg_notify('${HEADS_CHANNEL}', org_id || ':' || last_seq) from moved`,
      [[...heads.keys()], [...heads.values()]],
    );
  }
}
