import {
  DEFAULT_LIVE_CHAT_SETTINGS,
  type AlertStage,
  type ConversationId,
  type EventId,
  type OrgId,
  type WidgetId,
} from '#libs/domain';
import { moveOffset, offsetKey } from './offset-rows.js';
import type { Meaning } from './statements.js';
import type { AlertRow, Tables, WaitingRow } from './tables.js';

function dueMs({ stage, first_due_ms, second_due_ms }: WaitingRow): number {
  return stage === 0 ? first_due_ms : stage === 1 ? second_due_ms : Infinity;
}

/** As a query returns it. */
function asSelected(row: WaitingRow) {
  return {
    ...row,
    seq: String(row.seq),
    waiting_since: new Date(row.waiting_since_ms),
    snapshot: JSON.parse(row.snapshot) as unknown,
  };
}

function unpublished(tables: Tables, partition: unknown): readonly AlertRow[] {
  return tables.alerts
    .values()
    .filter(({ published_at_ms, log_partition }) => published_at_ms === null && log_partition === partition);
}

/** Whether one is the first alert of the wait that the other one escalates, and its event may not be in the log. */
function isFirstOf(one: AlertRow, other: AlertRow): boolean {
  const isSameWait =
    one.org_id === other.org_id && one.conversation_id === other.conversation_id && one.entry_id === other.entry_id;
  return isSameWait && one.stage === 1 && !one.is_logged;
}

/** Keeps so many rows of each partition, and says how many there are. */
function within(limit: number, rows: readonly WaitingRow[]): readonly (WaitingRow & { readonly found: number })[] {
  const kept = new Map<number, WaitingRow[]>();
  for (const row of rows) {
    const ofPartition = kept.get(row.log_partition) ?? [];
    if (ofPartition.length < limit) ofPartition.push(row);
    kept.set(row.log_partition, ofPartition);
  }
  return rows.flatMap((row) => {
    const ofPartition = kept.get(row.log_partition) ?? [];
    return ofPartition.includes(row) ? [{ ...row, found: ofPartition.length }] : [];
  });
}

/** The queues of waiting conversations, and the alerts. */
export const ALERT_STATEMENTS: readonly Meaning[] = [
  {
    name: 'move chat queue',
    domain: 'alerts',
    sign: /^\s*with moved as \([^;]*\n\)\s*select count\(\*\) as moved from moved\s*$/,
    act: (tables, statement, parameters) => [{ moved: moveOffset(tables, statement, parameters) ? '1' : '0' }],
  },
  {
    name: 'lock queues',
    domain: 'alerts',
    sign: /from chat_queues where org_id = any\(\$1\) order by org_id for update/,
    act: (tables, _statement, [orgIds]) =>
      (orgIds as readonly string[]).flatMap((orgId) => {
        const queue = tables.queues.get(orgId);
        return queue === undefined ? [] : [{ ...queue, last_seq: String(queue.last_seq) }];
      }),
  },
  {
    name: 'begin queues',
    domain: 'alerts',
    sign: /insert into chat_queues/,
    act: (tables, _statement, [orgIds, first, second]) => {
      for (const orgId of orgIds as readonly OrgId[]) {
        if (tables.queues.get(orgId) !== undefined) continue;
        const thresholds = { first_alert_seconds: Number(first), second_alert_seconds: Number(second) };
        tables.queues.set(orgId, { org_id: orgId, waiting: 0, last_seq: 0, ...thresholds });
      }
      return [];
    },
  },
  {
    name: 'lock waiting',
    domain: 'alerts',
    sign: /as concerned\(o, c, r\)/,
    act: (tables, statement, parameters) =>
      statement.rowsOf(parameters, 'concerned').flatMap(({ o, c, r }) => {
        const row = tables.waiting.get(`${String(o)}/${String(c)}`);
        if (row === undefined) return [];
        return [{ ...asSelected(row), snapshot: null, bytes: r === true ? row.snapshot.length : 0 }];
      }),
  },
  {
    name: 'read snapshots',
    domain: 'alerts',
    sign: /as changed\(o, c\)/,
    act: (tables, statement, parameters) =>
      statement.rowsOf(parameters, 'changed').flatMap(({ o, c }) => {
        const row = tables.waiting.get(`${String(o)}/${String(c)}`);
        return row === undefined ? [] : [asSelected(row)];
      }),
  },
  {
    name: 'note logged',
    domain: 'alerts',
    sign: /update alerts a set is_logged = true/,
    act: (tables, statement, parameters) =>
      statement.rowsOf(parameters, 'event').flatMap(({ o, i }) => {
        const key = `${String(o)}/${String(i)}`;
        const alert = tables.alerts.get(key);
        if (alert === undefined) return [];
        tables.alerts.set(key, { ...alert, is_logged: true });
        return [{ org_id: alert.org_id, event_id: alert.event_id, entry_id: alert.entry_id }];
      }),
  },
  {
    name: 'write queues',
    domain: 'alerts',
    sign: /insert into waiting_conversations/,
    act: (tables, statement, parameters) => {
      for (const { o, c, e, s, t, g, f, l, w, n } of statement.rowsOf(parameters, 'kept')) {
        tables.waiting.set(`${String(o)}/${String(c)}`, {
          org_id: o as OrgId,
          conversation_id: c as ConversationId,
          entry_id: e as EventId,
          log_partition: Number(parameters[0]),
          seq: Number(s),
          waiting_since_ms: Number(t),
          stage: Number(g) as AlertStage,
          first_due_ms: Number(f),
          second_due_ms: Number(l),
          widget_id: w as WidgetId | null,
          snapshot: String(n),
        });
      }
      for (const { o, c, s, g } of statement.rowsOf(parameters, 'marked')) {
        const row = tables.waiting.get(`${String(o)}/${String(c)}`);
        if (row === undefined) continue;
        tables.waiting.set(`${String(o)}/${String(c)}`, { ...row, seq: Number(s), stage: Number(g) as AlertStage });
      }
      for (const { o, c } of statement.rowsOf(parameters, 'gone')) tables.waiting.delete(`${String(o)}/${String(c)}`);
      for (const { o, s, d } of statement.rowsOf(parameters, 'counted')) {
        const queue = tables.queues.get(String(o));
        if (queue === undefined) continue;
        tables.queues.set(String(o), { ...queue, last_seq: Number(s), waiting: queue.waiting + Number(d) });
      }
      for (const { o, c, e } of statement.rowsOf(parameters, 'ended')) {
        for (const alert of tables.alerts.values()) {
          if (alert.org_id !== o || alert.conversation_id !== c || alert.entry_id !== e) continue;
          tables.alerts.set(`${alert.org_id}/${alert.event_id}`, { ...alert, cleared: true });
        }
      }
      return [];
    },
  },
  {
    name: 'due alerts',
    domain: 'alerts',
    sign: /where due_at <= to_timestamp\(\$1 \/ 1000\.0\)/,
    act: (tables, _statement, [nowMs, partitions, limit]) => {
      const due = tables.waiting
        .values()
        .filter((row) => dueMs(row) <= Number(nowMs) && (partitions as readonly number[]).includes(row.log_partition))
        .toSorted((one, other) => dueMs(one) - dueMs(other));
      return within(Number(limit), due).map(({ found, ...row }) => {
        const queue = tables.queues.get(row.org_id);
        return {
          ...asSelected(row),
          found,
          depth: queue?.waiting ?? 0,
          first_alert_seconds: queue?.first_alert_seconds ?? DEFAULT_LIVE_CHAT_SETTINGS.firstAlertSeconds,
          second_alert_seconds: queue?.second_alert_seconds ?? DEFAULT_LIVE_CHAT_SETTINGS.secondAlertSeconds,
          staff_alerts_enabled: true,
          staff_alert_emails: [],
        };
      });
    },
  },
  {
    name: 'next thresholds',
    domain: 'alerts',
    sign: /select distinct log_partition, null::float8 as next_ms/,
    act: (tables, _statement, [partitions, sinceMs, nowMs]) => {
      const rows = tables.waiting
        .values()
        .filter((row) => dueMs(row) > Number(sinceMs) && (partitions as readonly number[]).includes(row.log_partition));
      const [passed, later] = [rows.filter((row) => dueMs(row) <= Number(nowMs)), rows.map(dueMs)];
      const nextMs = Math.min(...later.filter((ms) => ms > Number(nowMs)));
      return [...new Set(passed.map(({ log_partition }) => log_partition))]
        .map((partition): { log_partition: number; next_ms: number | null } => ({
          log_partition: partition,
          next_ms: null,
        }))
        .concat(nextMs < Infinity ? [{ log_partition: -1, next_ms: nextMs }] : []);
    },
  },
  {
    name: 'claim alerts',
    domain: 'alerts',
    sign: /insert into alerts \(/,
    act: (tables, statement, parameters) => {
      const claimed = new Set<string>();
      for (const { o, c, e, s, was, becomes, at } of statement.rowsOf(parameters, 'decided')) {
        const key = `${String(o)}/${String(c)}`;
        const row = tables.waiting.get(key);
        if (row === undefined || row.entry_id !== e || row.seq !== Number(s) || row.stage !== was) continue;
        if ((becomes === 1 ? row.first_due_ms : row.second_due_ms) > Number(at)) continue;
        tables.waiting.set(key, { ...row, stage: becomes as AlertStage });
        claimed.add(key);
      }
      return statement.rowsOf(parameters, 'alert').flatMap(({ o, i, c, e, g, w, p, t, d, f }) => {
        const key = `${String(o)}/${String(i)}`;
        if (!claimed.has(`${String(o)}/${String(c)}`) || tables.alerts.get(key) !== undefined) return [];
        tables.alerts.set(key, {
          org_id: o as OrgId,
          event_id: i as EventId,
          conversation_id: c as ConversationId,
          entry_id: e as EventId,
          stage: Number(g) as 1 | 2,
          widget_id: w as WidgetId | null,
          log_partition: Number(p),
          raised_at_ms: Number(t),
          data: String(d),
          tells_staff: f === true,
          is_logged: false,
          published_at_ms: null,
          cleared: false,
        });
        return [{ event_id: i }];
      });
    },
  },
  {
    name: 'any unpublished',
    domain: 'alerts',
    sign: /where exists \(select from alerts where published_at is null/,
    act: (tables, _statement, [partitions]) =>
      (partitions as readonly number[])
        .filter((partition) => unpublished(tables, partition).length > 0)
        .map((partition) => ({ partition })),
  },
  {
    name: 'unpublished',
    domain: 'alerts',
    sign: /from alerts where published_at is null and log_partition = \$1\s+order by is_logged, stage, raised_at/,
    act: (tables, _statement, [partition, limit, topic]) =>
      unpublished(tables, partition)
        .toSorted(
          (one, other) =>
            Number(one.is_logged) - Number(other.is_logged) ||
            one.stage - other.stage ||
            one.raised_at_ms - other.raised_at_ms,
        )
        .slice(0, Number(limit))
        .map((row) => ({
          ...row,
          is_late: row.cleared && !row.is_logged,
          awaits_first: row.stage === 2 && unpublished(tables, partition).some((other) => isFirstOf(other, row)),
          raised_at: new Date(row.raised_at_ms),
          data_json: row.data,
          folded_to: tables.offsets.get(offsetKey('alerting', topic, row.log_partition))?.next_offset ?? null,
        })),
  },
  {
    name: 'published',
    domain: 'alerts',
    sign: /update alerts a set published_at = to_timestamp\(\$3/,
    act: (tables, statement, parameters) => {
      for (const { o, i } of statement.rowsOf(parameters, 'published')) {
        const alert = tables.alerts.get(`${String(o)}/${String(i)}`);
        if (alert === undefined) continue;
        tables.alerts.set(`${alert.org_id}/${alert.event_id}`, { ...alert, published_at_ms: Number(parameters[2]) });
      }
      return [];
    },
  },
];
