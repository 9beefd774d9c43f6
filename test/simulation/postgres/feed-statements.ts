import type { EventId, OrgId } from '#libs/domain';
import { moveOffset, offsetKey } from './offset-rows.js';
import type { Meaning } from './statements.js';
import type { EventRow, OffsetRow } from './tables.js';

/** The feed, and how far the projections are. */
export const FEED_STATEMENTS: readonly Meaning[] = [
  {
    name: 'apply feed',
    domain: 'feed',
    sign: /insert into events \(/,
    act: (tables, statement, parameters) => {
      if (!moveOffset(tables, statement, parameters)) return [{ moved: '0', notified: '0' }];
      const [, place] = /substring\(\$(\d+)::bytea/.exec(statement.sql) ?? [];
      const bytes = parameters[Number(place) - 1] as Buffer;
      for (const { o, s, i, t, a, f, l } of statement.rowsOf(parameters, 'event')) {
        const first = Number(f) - 1;
        const row: EventRow = {
          org_id: o as OrgId,
          seq: Number(s),
          event_id: i as EventId,
          event_type: String(t),
          appended_at_ms: Number(a),
          envelope: bytes.subarray(first, first + Number(l)),
        };
        const key = `${row.org_id}/${row.seq}/${row.appended_at_ms}`;
        if (tables.events.get(key) !== undefined) {
          throw Object.assign(new Error('duplicate key value violates unique constraint "events_pkey"'), {
            code: '23505',
          });
        }
        tables.events.set(key, row);
        tables.eventIds.set(`${row.org_id}/${row.event_id}`, row);
      }
      for (const { o, s } of statement.rowsOf(parameters, 'head')) tables.orgHeads.set(String(o), Number(s));
      return [{ moved: '1', notified: '0' }];
    },
  },
  {
    name: 'heads',
    domain: 'feed',
    sign: /^\s*select org_id, last_seq from org_heads where org_id = any\(\$1\)/,
    act: (tables, _statement, [orgIds]) =>
      (orgIds as readonly string[]).flatMap((orgId) => {
        const head = tables.orgHeads.get(orgId);
        return head === undefined ? [] : [{ org_id: orgId, last_seq: String(head) }];
      }),
  },
  {
    name: 'begin projection',
    domain: null,
    sign: /with begun as \(\s*insert into projection_offsets/,
    act: (tables, _statement, [projection, topic, partition, first]) => {
      const key = offsetKey(projection, topic, partition);
      const row: OffsetRow = tables.offsets.get(key) ?? { projection, topic, partition, next_offset: Number(first) };
      tables.offsets.set(key, row);
      return [{ ...row, next_offset: String(row.next_offset) }];
    },
  },
  {
    name: 'begin partitions',
    domain: null,
    sign: /select \$1::text, \$2::text, unnest\(\$3::int\[\]\), 0/,
    act: (tables, _statement, [projection, topic, partitions]) => {
      for (const partition of partitions as readonly number[]) {
        const key = offsetKey(projection, topic, partition);
        if (tables.offsets.get(key) === undefined)
          tables.offsets.set(key, { projection, topic, partition, next_offset: 0 });
      }
      return [];
    },
  },
  {
    name: 'places of projection',
    domain: null,
    sign: /^\s*select partition, next_offset(, anchor)? from projection_offsets where projection = \$1 and topic = \$2/,
    act: (tables, _statement, [projection, topic]) =>
      tables.offsets
        .values()
        .filter((row) => row['projection'] === projection && row['topic'] === topic)
        .map((row) => ({
          partition: row['partition'],
          next_offset: String(row.next_offset),
          anchor: row['anchor'] ?? null,
        })),
  },
  {
    name: 'known ids',
    domain: null,
    sign: /split_part\(key, '\/', 1\)::uuid/,
    act: (tables, _statement, [keys, topic]) => {
      const known = (keys as readonly string[]).filter((key) => tables.eventIds.get(key) !== undefined);
      const offsets = tables.offsets
        .values()
        .filter((row) => row['projection'] === 'feed' && row['topic'] === topic)
        .map((row) => `${String(row['partition'])}:${row.next_offset}`);
      return [{ known: known.length === 0 ? null : known, offsets: [...offsets].join(' ') }];
    },
  },
];
