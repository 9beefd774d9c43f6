import type { QueryRunner } from 'typeorm';
import {
  DEFAULT_LIVE_CHAT_SETTINGS,
  foldConversation,
  SeqGate,
  seqFromText,
  wholeSnapshot,
  type AlertStage,
  type ConversationEvent,
  type ConversationId,
  type ConversationSnapshot,
  type EndedEntry,
  type EventId,
  type OrgId,
  type Seq,
  type WaitingConversation,
  type WidgetId,
} from '#libs/domain';
import {
  applied,
  MOVED,
  moveParameters,
  projectedUpTo,
  ProjectionOffsets,
  type Projected,
  type Stretch,
} from '../projections/projection-offsets.js';
import type { Store } from '../connection/store.js';

/** A log event that concerns a queue, with its offset. */
export interface ConversationEventAtOffset extends ConversationEvent {
  readonly offset: number;
}

/** What became of a stretch, and when the first chat that it left waiting is due, in epoch milliseconds. */
export interface ProjectedQueue {
  readonly projected: Projected;
  /** `Infinity` if the stretch left no chat that waits for an alert. */
  readonly dueAtMs: number;
}

/** The projection's name. */
export const CHAT_QUEUE_PROJECTION = 'alerting';

/** A locked queue of an org. */
interface Queue {
  readonly lastSeq: Seq;
  readonly firstAlertSeconds: number;
  readonly secondAlertSeconds: number;
}

/** A conversation before a batch, and the batch's events about it. */
interface Place {
  readonly orgId: OrgId;
  readonly conversationId: ConversationId;
  /** Its snapshot is `UNREAD`. */
  before: WaitingConversation | undefined;
  /** The bytes of its stored snapshot, if the events change that; otherwise 0. */
  bytes: number;
  readonly events: ConversationEvent[];
}

/** A conversation before and after a batch. */
interface FoldedPlace {
  readonly orgId: OrgId;
  readonly conversationId: ConversationId;
  readonly before: WaitingConversation | undefined;
  readonly waiting: WaitingConversation | undefined;
  /** The stay that the batch ended, if it began before the batch. */
  readonly ended: EndedEntry | undefined;
}

interface QueueRow {
  readonly org_id: OrgId;
  readonly last_seq: string;
  readonly first_alert_seconds: number;
  readonly second_alert_seconds: number;
}

/** A row of `waiting_conversations`, without the time of its next alert. */
export interface WaitingRow {
  readonly org_id: OrgId;
  readonly conversation_id: ConversationId;
  readonly entry_id: EventId;
  readonly seq: string;
  readonly waiting_since: Date;
  readonly stage: AlertStage;
  readonly widget_id: WidgetId | null;
  readonly snapshot: ConversationSnapshot;
}

export function waitingConversationOf(row: WaitingRow): WaitingConversation {
  return {
    orgId: row.org_id,
    conversationId: row.conversation_id,
    entry: row.entry_id,
    seq: seqFromText(row.seq),
    waitingSinceMs: row.waiting_since.getTime(),
    stage: row.stage,
    widgetId: row.widget_id,
    snapshot: row.snapshot,
  };
}

/** In place of a stored snapshot that a batch leaves as it is. Such snapshots are neither read nor written. */
const UNREAD: ConversationSnapshot = wholeSnapshot('' as ConversationId, {});

/** The most bytes of stored snapshots that are changed by a statement: a batch may concern thousands of 255 KiB. */
const SLICE_BYTES = 4 * 1024 * 1024;

const MOVE = `with ${MOVED} select count(*) as moved from moved`;

const LOCK_QUEUES = `
  select org_id, last_seq, first_alert_seconds, second_alert_seconds
  from chat_queues where org_id = any($1) order by org_id for update`;

const BEGIN_QUEUES = `
  insert into chat_queues (org_id, waiting, last_seq, first_alert_seconds, second_alert_seconds)
  select o, 0, 0, coalesce(s.first_alert_seconds, $2), coalesce(s.second_alert_seconds, $3)
  from unnest($1::uuid[]) as org(o) left join live_chat_settings s on s.org_id = o
  on conflict do nothing`;

const LOCK_WAITING = `
  select w.org_id, w.conversation_id, w.entry_id, w.seq, w.waiting_since, w.stage, w.widget_id,
    case when r then octet_length(w.snapshot::text) else 0 end as bytes
  from waiting_conversations w
  join unnest($1::uuid[], $2::text[], $3::boolean[]) as concerned(o, c, r) on w.org_id = o and w.conversation_id = c
  order by w.org_id, w.conversation_id for update of w`;

const READ_SNAPSHOTS = `
  select w.org_id, w.conversation_id, w.snapshot from waiting_conversations w
  join unnest($1::uuid[], $2::text[]) as changed(o, c) on w.org_id = o and w.conversation_id = c`;

/** Marks an alert as published for certain, because the log holds its event. */
const NOTE_LOGGED = `
  with logged as (
    update alerts a set is_logged = true
    from unnest($1::uuid[], $2::text[]) as event(o, i) where a.org_id = o and a.event_id = i
    returning a.org_id, a.event_id, a.entry_id
  )
  select org_id, event_id, entry_id from logged`;

const WRITE = `
  with kept as (
    insert into waiting_conversations
      (org_id, conversation_id, entry_id, log_partition, seq, waiting_since, stage, first_due_at, second_due_at,
       widget_id, snapshot)
    select o, c, e, $1::int, s, to_timestamp(t / 1000.0), g, to_timestamp(f / 1000.0), to_timestamp(l / 1000.0), w, n::json
    from unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::smallint[], $8::bigint[],
      $9::bigint[], $10::uuid[], $11::text[]) as kept(o, c, e, s, t, g, f, l, w, n)
    on conflict (org_id, conversation_id) do update
    set entry_id = excluded.entry_id, log_partition = excluded.log_partition, seq = excluded.seq,
      waiting_since = excluded.waiting_since, stage = excluded.stage, first_due_at = excluded.first_due_at,
      second_due_at = excluded.second_due_at, widget_id = excluded.widget_id, snapshot = excluded.snapshot
  ), marked as (
    update waiting_conversations w set seq = s, stage = g
    from unnest($22::uuid[], $23::text[], $24::bigint[], $25::smallint[]) as marked(o, c, s, g)
    where w.org_id = o and w.conversation_id = c
  ), gone as (
    delete from waiting_conversations w using unnest($12::uuid[], $13::text[]) as gone(o, c)
    where w.org_id = o and w.conversation_id = c
  ), counted as (
    update chat_queues q set last_seq = s, waiting = q.waiting + d
    from unnest($14::uuid[], $15::bigint[], $16::int[]) as counted(o, s, d) where q.org_id = o
  ), cleared as (
    update alerts a set cleared_at = to_timestamp(t / 1000.0), cleared_by = h
    from unnest($17::uuid[], $18::text[], $19::text[], $20::bigint[], $21::text[]) as ended(o, c, e, t, h)
    where a.org_id = o and a.conversation_id = c and a.entry_id = e and a.cleared_at is null
  )
  select 1`;

/**
 * Locks the queues before their chats, as the fold does. A chat that was changed meanwhile is judged again as it is by
 * then. The alerts that are being published stay locked for as long as Kafka takes, and nothing may wait for them here.
 */
const PRUNE = `
  with old as (
    select org_id, conversation_id from waiting_conversations w
    where waiting_since < $1 and (due_at is null or due_at > $2)
      and not exists (
        select from alerts a
        where a.org_id = w.org_id and a.conversation_id = w.conversation_id and a.published_at is null
      )
    order by waiting_since limit $3
  ), queues as (
    select org_id from chat_queues where org_id in (select org_id from old) order by org_id for update
  ), gone as (
    delete from waiting_conversations w using old, queues q
    where w.org_id = old.org_id and w.conversation_id = old.conversation_id and w.org_id = q.org_id
      and w.waiting_since < $1 and (w.due_at is null or w.due_at > $2)
    returning w.org_id, w.conversation_id, w.entry_id
  ), counted as (
    update chat_queues q set waiting = q.waiting - chats
    from (select org_id, count(*)::int as chats from gone group by org_id) left_by where q.org_id = left_by.org_id
  ), cleared as (
    update alerts a set cleared_at = $2, cleared_by = 'expired' from gone
    where a.org_id = gone.org_id and a.conversation_id = gone.conversation_id and a.entry_id = gone.entry_id
      and a.cleared_at is null
  )
  select count(*)::int as pruned from gone`;

/**
 * Folds the log into the orgs' queues of waiting conversations, and stores the offset with them. Sweeps may claim
 * alerts and settings may change at the same time, so it locks queues and conversations while it folds them.
 */
export class ChatQueueProjection {
  readonly #offsets: ProjectionOffsets;

  constructor(private readonly store: Store) {
    this.#offsets = new ProjectionOffsets(store);
  }

  /** @param events the events of one partition that concern a queue, ascending */
  async apply(stretch: Stretch, events: readonly ConversationEventAtOffset[]): Promise<ProjectedQueue> {
    for (;;) {
      const place = await this.#offsets.place(stretch);
      if (place.kind === 'behind') return { projected: place, dueAtMs: Infinity };
      if (place.kind === 'done') return { projected: applied(stretch, stretch.nextOffset), dueAtMs: Infinity };
      const unseen = events.filter((event) => event.offset >= place.expected);
      const move = moveParameters(stretch, place);
      const dueAtMs = unseen.length === 0 ? await this.#move(move) : await this.#fold(stretch.partition, move, unseen);
      if (dueAtMs !== undefined) {
        this.#offsets.moved(stretch, place);
        return { projected: applied(stretch, place.expected), dueAtMs };
      }
      this.#offsets.forget(stretch);
    }
  }

  /** Returns the offset up to which each partition of the log is folded. */
  async foldedUpTo(topic: string): Promise<ReadonlyMap<number, number>> {
    return projectedUpTo(this.store, CHAT_QUEUE_PROJECTION, topic);
  }

  /**
   * Removes chats that began to wait before that time, and clears their alerts: the event that ends their wait never
   * came. A chat stays while its alert is due at `now` or not published yet, until a sweep has raised and published it.
   * @returns the number of removed chats, at most `limit`
   */
  async prune(before: Date, now: Date, limit: number): Promise<number> {
    const [outcome] = await this.store.query<{ pruned: number }>(PRUNE, [before, now, limit]);
    return outcome?.pruned ?? 0;
  }

  /** Moves the offset alone, because most of the log concerns no queue. */
  async #move(parameters: readonly unknown[]): Promise<number | undefined> {
    const [outcome] = await this.store.prepared<{ moved: string }>('move_chat_queue', MOVE, parameters);
    return outcome?.moved === '1' ? Infinity : undefined;
  }

  /** @returns when the first chat is due; `undefined` if offset or tables were not the expected ones: nothing was written */
  async #fold(
    partition: number,
    move: readonly unknown[],
    events: readonly ConversationEventAtOffset[],
  ): Promise<number | undefined> {
    return this.store.transaction(async (runner) => {
      const [outcome] = (await runner.query(MOVE, [...move])) as { moved: string }[];
      if (outcome?.moved !== '1') return undefined;
      const queues = await lockQueues(runner, [...new Set(events.map((event) => event.orgId))]);
      const fresh = unrepeated(events, queues);
      if (fresh.length === 0) return Infinity;
      const places = await lockPlaces(runner, fresh);
      const alertedEntries = await noteLogged(runner, fresh);
      const lastSeqs = new Map(fresh.map(({ orgId, seq }) => [orgId, seq]));
      let dueMs = Infinity;
      for (const slice of slicesOf(places)) {
        const snapshots = await readSnapshots(runner, slice);
        const folded = slice.map((place) => fold(place, snapshots, alertedEntries));
        await runner.query(WRITE, [partition, ...writeParameters(folded, queues, lastSeqs)]);
        dueMs = Math.min(dueMs, ...folded.map((one) => nextDueMs(one, queues)));
      }
      return dueMs;
    });
  }
}

function keyOf(orgId: OrgId, id: ConversationId | EventId): string {
  return `${orgId}/${id}`;
}

/** Locks the queues of the orgs, and creates missing ones. */
async function lockQueues(runner: QueryRunner, orgIds: readonly OrgId[]): Promise<ReadonlyMap<OrgId, Queue>> {
  const lock = async () => (await runner.query(LOCK_QUEUES, [orgIds])) as QueueRow[];
  let rows = await lock();
  if (rows.length < orgIds.length) {
    const { firstAlertSeconds, secondAlertSeconds } = DEFAULT_LIVE_CHAT_SETTINGS;
    await runner.query(BEGIN_QUEUES, [orgIds, firstAlertSeconds, secondAlertSeconds]);
    // A change of the settings has created the queue meanwhile, with those settings.
    rows = await lock();
  }
  return new Map(
    rows.map((row) => [
      row.org_id,
      {
        lastSeq: seqFromText(row.last_seq),
        firstAlertSeconds: row.first_alert_seconds,
        secondAlertSeconds: row.second_alert_seconds,
      },
    ]),
  );
}

function unrepeated(
  events: readonly ConversationEventAtOffset[],
  queues: ReadonlyMap<OrgId, Queue>,
): readonly ConversationEventAtOffset[] {
  const gate = new SeqGate();
  for (const [orgId, { lastSeq }] of queues) gate.resume(orgId, lastSeq);
  return gate.sift(events).fresh;
}

/** Whether the events change the stored snapshot. A chat that enters the queue or leaves it needs no earlier one. */
function changeSnapshot(events: readonly ConversationEvent[]): boolean {
  const kinds = new Set(events.map(({ change }) => change.kind));
  return kinds.has('transferred') && !kinds.has('entered') && !kinds.has('left');
}

async function lockPlaces(runner: QueryRunner, events: readonly ConversationEvent[]): Promise<readonly Place[]> {
  const places = new Map<string, Place>();
  for (const event of events) {
    const { orgId, conversationId } = event;
    const key = keyOf(orgId, conversationId);
    const place = places.get(key);
    if (place === undefined) places.set(key, { orgId, conversationId, before: undefined, bytes: 0, events: [event] });
    else place.events.push(event);
  }
  const concerned = [...places.values()];
  const rows = (await runner.query(LOCK_WAITING, [
    concerned.map(({ orgId }) => orgId),
    concerned.map(({ conversationId }) => conversationId),
    concerned.map((place) => changeSnapshot(place.events)),
  ])) as (Omit<WaitingRow, 'snapshot'> & { readonly bytes: number })[];
  for (const row of rows) {
    const place = places.get(keyOf(row.org_id, row.conversation_id));
    if (place === undefined) continue;
    place.before = waitingConversationOf({ ...row, snapshot: UNREAD });
    place.bytes = row.bytes;
  }
  return concerned;
}

function* slicesOf(places: readonly Place[]): Generator<readonly Place[]> {
  let slice: Place[] = [];
  let bytes = 0;
  for (const place of places) {
    if (slice.length > 0 && bytes + place.bytes > SLICE_BYTES) {
      yield slice;
      slice = [];
      bytes = 0;
    }
    slice.push(place);
    bytes += place.bytes;
  }
  if (slice.length > 0) yield slice;
}

/** Reads the stored snapshots that the events of the slice change. */
async function readSnapshots(
  runner: QueryRunner,
  slice: readonly Place[],
): Promise<ReadonlyMap<string, ConversationSnapshot>> {
  const changed = slice.filter(({ bytes }) => bytes > 0);
  if (changed.length === 0) return new Map();
  const rows = (await runner.query(READ_SNAPSHOTS, [
    changed.map(({ orgId }) => orgId),
    changed.map(({ conversationId }) => conversationId),
  ])) as Pick<WaitingRow, 'org_id' | 'conversation_id' | 'snapshot'>[];
  return new Map(rows.map((row) => [keyOf(row.org_id, row.conversation_id), row.snapshot]));
}

/** @returns the stays that the batch's alerting events are about, as far as Gapless decided them */
async function noteLogged(
  runner: QueryRunner,
  events: readonly ConversationEvent[],
): Promise<ReadonlyMap<string, EventId>> {
  const alerting = events.filter(({ change }) => change.kind === 'alerted');
  if (alerting.length === 0) return new Map();
  const rows = (await runner.query(NOTE_LOGGED, [
    alerting.map(({ orgId }) => orgId),
    alerting.map(({ id }) => id),
  ])) as { org_id: OrgId; event_id: EventId; entry_id: EventId }[];
  return new Map(rows.map((row) => [keyOf(row.org_id, row.event_id), row.entry_id]));
}

function fold(
  { orgId, conversationId, before: stored, events }: Place,
  snapshots: ReadonlyMap<string, ConversationSnapshot>,
  alertedEntries: ReadonlyMap<string, EventId>,
): FoldedPlace {
  const snapshot = snapshots.get(keyOf(orgId, conversationId));
  const before = stored === undefined || snapshot === undefined ? stored : { ...stored, snapshot };
  let waiting = before;
  let ended: EndedEntry | undefined;
  for (const event of events) {
    const folded = foldConversation(waiting, event, alertedEntries.get(keyOf(orgId, event.id)) ?? null);
    waiting = folded.waiting;
    // Only a stay from before this batch can have alerts.
    if (folded.ended !== undefined && folded.ended.entry === before?.entry) ended = folded.ended;
  }
  return { orgId, conversationId, before, waiting, ended };
}

function dueAtMs(
  { orgId, waitingSinceMs }: WaitingConversation,
  threshold: keyof Omit<Queue, 'lastSeq'>,
  queues: ReadonlyMap<OrgId, Queue>,
): number {
  return waitingSinceMs + (queues.get(orgId)?.[threshold] ?? 0) * 1_000;
}

/** @returns when the chat passes its next threshold; `Infinity` if it waits for none, or was left as it was */
function nextDueMs({ before, waiting }: FoldedPlace, queues: ReadonlyMap<OrgId, Queue>): number {
  if (waiting === undefined || waiting === before || waiting.stage === 2) return Infinity;
  return dueAtMs(waiting, waiting.stage === 0 ? 'firstAlertSeconds' : 'secondAlertSeconds', queues);
}

function writeParameters(
  places: readonly FoldedPlace[],
  queues: ReadonlyMap<OrgId, Queue>,
  lastSeqs: ReadonlyMap<OrgId, Seq>,
): readonly unknown[] {
  const changed = places.flatMap(({ waiting, before }) =>
    waiting === undefined || waiting === before ? [] : [waiting],
  );
  const marked = changed.filter(({ snapshot }) => snapshot === UNREAD);
  const kept = changed.filter(({ snapshot }) => snapshot !== UNREAD);
  const gone = places.filter(({ before, waiting }) => before !== undefined && waiting === undefined);
  const ended = places.flatMap(({ orgId, conversationId, ended: one }) =>
    one === undefined ? [] : [{ orgId, conversationId, ...one }],
  );
  const deltas = new Map<OrgId, number>();
  for (const { orgId, before, waiting } of places) {
    const delta = Number(waiting !== undefined) - Number(before !== undefined);
    deltas.set(orgId, (deltas.get(orgId) ?? 0) + delta);
  }
  return [
    kept.map((one) => one.orgId),
    kept.map((one) => one.conversationId),
    kept.map((one) => one.entry),
    kept.map((one) => one.seq),
    kept.map((one) => one.waitingSinceMs),
    kept.map((one) => one.stage),
    kept.map((one) => dueAtMs(one, 'firstAlertSeconds', queues)),
    kept.map((one) => dueAtMs(one, 'secondAlertSeconds', queues)),
    kept.map((one) => one.widgetId),
    kept.map((one) => JSON.stringify(one.snapshot)),
    gone.map((one) => one.orgId),
    gone.map((one) => one.conversationId),
    [...deltas.keys()],
    [...deltas.keys()].map((orgId) => lastSeqs.get(orgId)),
    [...deltas.values()],
    ended.map((one) => one.orgId),
    ended.map((one) => one.conversationId),
    ended.map((one) => one.entry),
    ended.map((one) => one.atMs),
    ended.map((one) => one.how),
    marked.map((one) => one.orgId),
    marked.map((one) => one.conversationId),
    marked.map((one) => one.seq),
    marked.map((one) => one.stage),
  ];
}
