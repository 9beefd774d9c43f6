import {
  SeqGate,
  seqFromText,
  type EventId,
  type OrgId,
  type Seq,
  type SequenceGap,
  type Sifted,
  type WidgetId,
} from '#libs/domain';
import type { SequenceCheck, SequenceFindings } from '#libs/telemetry';
import { DayPartitions } from './days/day-partitions.js';
import {
  applied,
  moveParameters,
  MOVED,
  ProjectionOffsets,
  type Expected,
  type Projected,
  type Stretch,
} from './projection-offsets.js';
import type { Store } from '../connection/store.js';

/** A log record as the feed stores it. */
export interface FeedEvent {
  readonly offset: number;
  readonly orgId: OrgId;
  readonly seq: Seq;
  readonly id: EventId;
  readonly event: string;
  readonly widgetId: WidgetId | null;
  /** When the broker appended the record, in epoch milliseconds. */
  readonly appendedAtMs: number;
  readonly envelope: Buffer;
}

/** The channel that announces each new head of an org, as `<org id>:<seq>`. */
export const HEADS_CHANNEL = 'gapless_heads';

/** The number of orgs of a partition whose heads are cached; others are read again. */
const REMEMBERED_ORGS = 20_000;

/**
 * Writes all rows of a batch in one statement, which is its own transaction. The envelopes come as one value, which
 * Postgres cuts up: an array would be sent as hexadecimal text, twice as long. The commit notifies waiting readers, so
 * none reads too early. A shadow notifies no readers.
 */
const APPLY = `
  with ${MOVED}, added as (
    insert into events (org_id, seq, event_id, event_type, widget_id, appended_at, envelope)
    select o, s, i, t, w, to_timestamp(a / 1000.0), substring($14::bytea from f for l)
    from unnest($6::uuid[], $7::bigint[], $8::text[], $9::text[], $10::uuid[], $11::bigint[], $12::int[], $13::int[])
      as event(o, s, i, t, w, a, f, l)
    where exists (select from moved)
  ), heads as (
    insert into org_heads (org_id, last_seq)
    select o, s from unnest($15::uuid[], $16::bigint[]) as head(o, s) where exists (select from moved)
    on conflict (org_id) do update set last_seq = excluded.last_seq
    returning org_id, last_seq
  ), notified as (
    select pg_notify('${HEADS_CHANNEL}', org_id || ':' || last_seq) from heads where current_schema() = 'public'
  )
  select (select count(*) from moved) as moved, (select count(*) from notified) as notified`;

/** The heads of a partition's orgs in Postgres; valid until another process moves the partition's offset. */
class Heads {
  readonly gate = new SeqGate();
  readonly known = new Set<OrgId>();
}

/** Returns the start of each envelope in their concatenation. Postgres counts from 1. */
function firstBytes(events: readonly FeedEvent[]): readonly number[] {
  let next = 1;
  return events.map(({ envelope }) => {
    const first = next;
    next += envelope.length;
    return first;
  });
}

/**
 * Folds the log into the feed, each event once and in order, and stores the offset with it. It checks that the seqs of
 * each org have no gaps.
 */
export class FeedProjection implements SequenceCheck {
  /** The days and offsets of each database that holds a part of the feed. */
  readonly #known = new WeakMap<Store, { readonly days: DayPartitions; readonly offsets: ProjectionOffsets }>();
  /** By topic and partition: partitions are projected at the same time, and must not forget each other's heads. */
  readonly #heads = new Map<string, Heads>();
  #findings: SequenceFindings = { checked: 0, gaps: 0, repeats: 0, mismatches: 0 };

  /**
   * @param onGap called for each gap in the log; the feed continues after it
   * @param onApplied called once for each event that is new in the feed
   */
  constructor(
    private readonly store: Store,
    private readonly onGap: (gap: SequenceGap) => void = () => undefined,
    private readonly onApplied: (events: readonly FeedEvent[]) => void = () => undefined,
  ) {}

  /**
   * @param events the events of one partition of the log, ascending
   * @throws FeedServerAwayError
   */
  async apply(stretch: Stretch, events: readonly FeedEvent[]): Promise<Projected> {
    await this.store.feed.settled();
    const store = this.store.feed.ofPartition(stretch.partition);
    const { days, offsets } = this.#knownOf(store);
    for (;;) {
      const place = await offsets.place(stretch);
      if (place.kind === 'behind') {
        // The database may have gone back, and the heads with it.
        this.#forgetHeads(stretch);
        return place;
      }
      if (place.kind === 'done') {
        // Another process stored the batch, or this one did without getting the answer. So the cached heads are too
        // old.
        this.#forgetHeads(stretch);
        return applied(stretch, stretch.nextOffset);
      }
      if (!place.continues) this.#forgetHeads(stretch);
      const unseen = events.filter((event) => event.offset >= place.expected);
      const { gate } = await this.#headsOf(store, stretch, unseen);
      const sifted = gate.sift(unseen);
      const timesMs = sifted.fresh.map((event) => event.appendedAtMs);
      if (await days.writeInto(timesMs, () => this.#write(store, stretch, place, sifted.fresh))) {
        sifted.remember();
        this.#note(unseen, sifted);
        offsets.moved(stretch, place);
        this.onApplied(sifted.fresh);
        return applied(stretch, place.expected);
      }
      offsets.forget(stretch);
    }
  }

  #knownOf(store: Store) {
    let known = this.#known.get(store);
    if (known === undefined) {
      known = { days: new DayPartitions(store), offsets: new ProjectionOffsets(store, this.store.feed) };
      this.#known.set(store, known);
    }
    return known;
  }

  read(): SequenceFindings {
    return this.#findings;
  }

  #note(events: readonly FeedEvent[], { fresh, gaps }: Sifted<FeedEvent>): void {
    const { checked, repeats } = this.#findings;
    this.#findings = {
      checked: checked + events.length,
      gaps: this.#findings.gaps + gaps.reduce((missing, { after, found }) => missing + found - after - 1, 0),
      repeats: repeats + events.length - fresh.length,
      mismatches: 0,
    };
    for (const gap of gaps) this.onGap(gap);
  }

  /** Returns the heads of the partition, with those of the events' orgs. */
  async #headsOf(store: Store, { topic, partition }: Stretch, events: readonly FeedEvent[]): Promise<Heads> {
    const key = `${topic}/${partition}`;
    let heads = this.#heads.get(key);
    if (heads === undefined || heads.known.size > REMEMBERED_ORGS) {
      heads = new Heads();
      this.#heads.set(key, heads);
    }
    const { gate, known } = heads;
    const unknown = [...new Set(events.map((event) => event.orgId))].filter((orgId) => !known.has(orgId));
    if (unknown.length === 0) return heads;
    const rows = await store.query<{ org_id: OrgId; last_seq: string }>(
      'select org_id, last_seq from org_heads where org_id = any($1)',
      [unknown],
    );
    for (const row of rows) gate.resume(row.org_id, seqFromText(row.last_seq));
    for (const orgId of unknown) known.add(orgId);
    return heads;
  }

  #forgetHeads({ topic, partition }: Stretch): void {
    this.#heads.delete(`${topic}/${partition}`);
  }

  /** @returns whether offset and tables were the expected ones; if not, nothing was written */
  async #write(store: Store, stretch: Stretch, place: Expected, events: readonly FeedEvent[]): Promise<boolean> {
    const heads = new Map(events.map((event) => [event.orgId, event.seq]));
    const [outcome] = await store.prepared<{ moved: string }>('apply_feed', APPLY, [
      ...moveParameters(stretch, place),
      events.map((event) => event.orgId),
      events.map((event) => event.seq),
      events.map((event) => event.id),
      events.map((event) => event.event),
      events.map((event) => event.widgetId),
      events.map((event) => event.appendedAtMs),
      firstBytes(events),
      events.map((event) => event.envelope.length),
      Buffer.concat(events.map((event) => event.envelope)),
      [...heads.keys()],
      [...heads.values()],
    ]);
    return outcome?.moved === '1';
  }
}
