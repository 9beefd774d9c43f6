import { type EndpointId, type Seq } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** An event of an endpoint's chain whose previous one is asked for. */
export interface ChainedEvent {
  readonly endpointId: EndpointId;
  readonly seq: Seq;
  readonly createdAtMs: number;
  /** The partition of the facts that has the endpoint's. */
  readonly partition: number;
}

export interface StoredPrevious {
  /** The seq of the last event before it in the chain, as far as its delivery is stored; `null` for none. */
  readonly previousSeq: number | null;
  /** How far the partition of the facts was projected at that moment. */
  readonly projectedTo: number;
}

/** Finds the event before another one in the chain of an endpoint. */
export class PreviousSeqs {
  constructor(private readonly store: Store) {}

  /**
   * Returns for each event, in order, the last one before it that is stored.
   * @param withinMs how much older it may be
   */
  async find(events: readonly ChainedEvent[], withinMs: number, topic: string): Promise<readonly StoredPrevious[]> {
    const rows = await this.store.prepared<{ previous_seq: string | null; projected_to: string | null }>(
      'previous_seqs',
      `select before.seq as previous_seq, reached.next_offset as projected_to
       from unnest($1::text[], $2::bigint[], $3::bigint[], $4::int[]) with ordinality
         as chained(endpoint_id, seq, created_ms, partition, place)
       left join projection_offsets reached
         on reached.projection = 'deliveries' and reached.topic = $5 and reached.partition = chained.partition
       left join lateral (
         select d.seq from deliveries d
         where d.endpoint_id = chained.endpoint_id and d.seq < chained.seq and d.previous_seq is not null
           and d.created_at >= to_timestamp((chained.created_ms - $6::bigint) / 1000.0)
         order by d.seq desc limit 1
       ) before on true
       order by chained.place`,
      [
        events.map(({ endpointId }) => endpointId),
        events.map(({ seq }) => seq),
        events.map(({ createdAtMs }) => createdAtMs),
        events.map(({ partition }) => partition),
        topic,
        withinMs,
      ],
    );
    return rows.map((row) => ({
      previousSeq: row.previous_seq === null ? null : Number(row.previous_seq),
      projectedTo: Number(row.projected_to ?? 0),
    }));
  }
}
