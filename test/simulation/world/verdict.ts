import { alertIdOf, type AlertId, type EventId, type OrgId } from '#libs/domain';
import { partitionOf, type TopicNames } from '#libs/kafka-log';
import { EPOCH_MS } from '../engine/virtual-time.js';
import type { Broker } from '../kafka/broker.js';
import type { KeptRecord, PartitionLog } from '../kafka/partition-log.js';
import type { DeliveryRow, Tables } from '../postgres/tables.js';
import type { Ledger, LedgerEndpoint } from './ledger.js';

/** An event of the log, as a reader that follows the rule of repeats has it. */
export interface Logged {
  readonly orgId: OrgId;
  readonly seq: number;
  readonly id: EventId;
  readonly event: string;
  readonly envelope: Buffer;
  readonly offset: number;
  /** The offsets of its byte-identical repeats. */
  readonly repeats: number[];
}

export interface Evidence {
  readonly broker: Broker;
  readonly tables: Tables;
  readonly ledger: Ledger;
  readonly topics: TopicNames;
  readonly partitions: number;
  /** Whether a process says that its group reads the partition no further until somebody acts. */
  readonly isStopped: (group: string, topic: string, partition: number) => boolean;
  /** How long after its threshold a chat has its alert, milliseconds; `null` if something goes wrong in the history. */
  readonly alertsWithinMs: number | null;
}

function header(record: KeptRecord, name: string): string {
  return String(record.headers[name] ?? '');
}

/** Every record that the log partition ever held, and readers may have. */
function recordsOf(log: PartitionLog, ledger: Ledger, problems: string[]): readonly KeptRecord[] {
  const back = ledger.wentBack.get(`${log.topic}/${log.partition}`);
  const records = [...log.pruned, ...log.records];
  if (back === undefined) return records;
  if (log.end === back.end) return [...records, ...back.removed];
  if (back.projected > back.end) {
    problems.push(
      `${log.topic}/${log.partition} is written on at ${back.end}, and Postgres had read ${back.projected}`,
    );
  }
  return records;
}

/** Reads the log, and notes what is wrong with it. */
export function readLog({ broker, topics, partitions, ledger }: Evidence, problems: string[]): readonly Logged[] {
  const events: Logged[] = [];
  for (const log of broker.partitionsOf(topics.log)) {
    const last = new Map<OrgId, number>();
    const bySeq = new Map<string, Logged>();
    const ids = new Map<string, number>();
    for (const record of recordsOf(log, ledger, problems)) {
      const orgId = String(record.key) as OrgId;
      const seq = Number(header(record, 'seq'));
      const id = header(record, 'ce_id') as EventId;
      const logged: Logged = {
        orgId,
        seq,
        id,
        event: header(record, 'ce_type'),
        envelope: record.value ?? Buffer.alloc(0),
        offset: record.offset,
        repeats: [],
      };
      const place = `${log.topic}/${log.partition}/${record.offset}`;
      if (partitionOf(orgId, partitions) !== log.partition) problems.push(`${place}: ${orgId} has another partition`);
      const before = last.get(orgId) ?? 0;
      if (seq <= before) {
        const first = bySeq.get(`${orgId}/${seq}`);
        if (first !== undefined && !first.envelope.equals(logged.envelope)) {
          problems.push(`${place}: seq ${seq} of ${orgId} stands there before with other bytes`);
        }
        first?.repeats.push(record.offset);
        continue;
      }
      if (seq !== before + 1) problems.push(`${place}: seq ${seq} of ${orgId} follows ${before}`);
      const known = ids.get(`${orgId}/${id}`);
      if (known !== undefined) problems.push(`${place}: id ${id} has seq ${known} and ${seq}`);
      ids.set(`${orgId}/${id}`, seq);
      last.set(orgId, seq);
      bySeq.set(`${orgId}/${seq}`, logged);
      events.push(logged);
    }
  }
  return events;
}

/** A producer that repeats its record at the same offset: nobody can see that the partition lost the first one. */
function isSame(one: KeptRecord, other: KeptRecord): boolean {
  return one.offset === other.offset && one.value !== null && other.value?.equals(one.value) === true;
}

/** The events that are not in the log, and rightly so: lost with the inbox, or in one that nobody reads until somebody acts. */
function excusedIds({ broker, topics, ledger, isStopped }: Evidence): ReadonlySet<EventId> {
  const ids = new Set<EventId>();
  for (const { partition, records } of broker.partitionsOf(topics.inbox)) {
    const back = ledger.wentBack.get(`${topics.inbox}/${partition}`);
    const looksUnchanged = back?.removed.some((lost) => records.some((record) => isSame(record, lost))) === true;
    const waiting = looksUnchanged || isStopped('sequencer', topics.inbox, partition) ? records : [];
    for (const { value } of [...(back?.removed ?? []), ...waiting]) {
      const [, id] = /"id":"(evt_\w+)"/.exec(value?.toString() ?? '') ?? [];
      if (id !== undefined) ids.add(id as EventId);
    }
  }
  return ids;
}

function checkLedger(evidence: Evidence, log: readonly Logged[], problems: string[]): void {
  const { ledger } = evidence;
  const byId = new Map(log.map((event) => [`${event.orgId}/${event.id}`, event]));
  const excused = ledger.wentBack.size === 0 ? new Set<EventId>() : excusedIds(evidence);
  for (const { id, orgId, dataJson } of ledger.acceptedEvents) {
    const logged = byId.get(`${orgId}/${id}`);
    if (logged === undefined && excused.has(id)) continue;
    if (logged === undefined) problems.push(`${id} of ${orgId} was acknowledged and is not in the log`);
    else if (!logged.envelope.includes(dataJson)) problems.push(`${id}: the log holds other data than was submitted`);
  }
  for (const { id, orgId, event } of log) {
    if (!ledger.submitted.has(id) && !event.startsWith('conversation.queued')) {
      problems.push(`${id} of ${orgId} is in the log, and nobody has submitted it`);
    }
  }
}

/**
 * Whether the event was lost from the log after it was written, and its readers may not know of it; or comes before those,
 * and the feed reads no further until somebody acts, since its reader had the lost ones already.
 */
function isWithheld({ ledger, topics, partitions, isStopped }: Evidence, { orgId, offset }: Logged): boolean {
  const partition = partitionOf(orgId, partitions);
  const back = ledger.wentBack.get(`${topics.log}/${partition}`);
  return back !== undefined && (offset >= back.end || isStopped('projector-feed', topics.log, partition));
}

/**
 * Whether the event of the delivery was lost from the log, the feed never had it, and its partition waits for somebody to
 * act: nothing holds the bytes that a lost attempt needs. A feed that had read nothing cannot know; the sequencer does.
 */
function isWithoutEvent({ tables, ledger, topics, partitions, isStopped }: Evidence, { ref }: DeliveryRow): boolean {
  const partition = partitionOf(ref.orgId, partitions);
  return (
    ledger.wentBack.has(`${topics.log}/${partition}`) &&
    (isStopped('projector-feed', topics.log, partition) || isStopped('sequencer', topics.inbox, partition)) &&
    !tables.events.values().some(({ event_id }) => event_id === ref.eventId)
  );
}

function checkFeed(evidence: Evidence, log: readonly Logged[], problems: string[]): void {
  const { tables } = evidence;
  const feed = new Map(tables.events.values().map((row) => [`${row.org_id}/${row.seq}`, row]));
  if (tables.events.size !== feed.size) problems.push('the feed holds a seq twice');
  const wanted = new Set<string>();
  for (const event of log) {
    const { orgId, seq, id, envelope } = event;
    const key = `${orgId}/${seq}`;
    wanted.add(key);
    const row = feed.get(key);
    if (row === undefined && isWithheld(evidence, event)) continue;
    if (row === undefined) problems.push(`seq ${seq} of ${orgId} is in the log and not in the feed`);
    else if (row.event_id !== id || !row.envelope.equals(envelope)) {
      problems.push(`seq ${seq} of ${orgId} is ${id} in the log and ${row.event_id} in the feed`);
    }
  }
  for (const key of feed.keys()) if (!wanted.has(key)) problems.push(`${key} is in the feed and not in the log`);
}

/**
 * Whether the endpoint was certainly not there, or inactive, whenever the event was appended. A sequencer that lost its
 * partition may write a repeat late; to a router that has just taken the partition over, it is the first of its seq.
 */
function wasAbsent({ createdFrom, inactive }: LedgerEndpoint, { offset: first, repeats }: Logged): boolean {
  return [first, ...repeats].every(
    (offset) => offset < createdFrom || inactive.some(({ began, ended }) => offset >= began && offset < ended),
  );
}

/**
 * Whether the endpoint was certainly there when the event was appended, and active then and when it was routed. What
 * the router met while the endpoint was inactive is lost to it: that it may be active again does not bring it back.
 */
function isOwed({ owedFrom, inactive }: LedgerEndpoint, offset: number): boolean {
  if (owedFrom === null || offset < owedFrom) return false;
  return inactive.every(({ askedAt, routedTo, owed }) => {
    if (owed !== null && offset >= owed.from) return true;
    return offset < askedAt && (offset < routedTo || (owed !== null && offset >= owed.handedOver));
  });
}

function keeps({ filter }: LedgerEndpoint, { seq }: Logged): boolean {
  return filter === null || filter.keeps(seq);
}

function checkDeliveries(evidence: Evidence, log: readonly Logged[], problems: string[]): void {
  const { tables, ledger } = evidence;
  const rows = new Map<string, DeliveryRow>();
  for (const row of tables.deliveries.values()) rows.set(`${row.ref.endpointId}/${row.ref.eventId}`, row);
  const byId = new Map(log.map((event) => [event.id, event]));
  for (const endpoint of ledger.endpoints.values()) {
    const got = new Set(endpoint.receipts.filter(({ succeeded }) => succeeded).map(({ eventId }) => eventId));
    for (const { eventId, body } of endpoint.receipts) {
      const logged = byId.get(eventId);
      if (logged === undefined) problems.push(`${endpoint.id} was pushed ${eventId}, which is not in the log`);
      else if (!logged.envelope.equals(body)) problems.push(`${endpoint.id} was pushed other bytes of ${eventId}`);
      else if (!isWithheld(evidence, logged) && wasAbsent(endpoint, logged)) {
        problems.push(`${endpoint.id} was pushed ${eventId}, from a time when it was not there or inactive`);
      } else if (!keeps(endpoint, logged))
        problems.push(`${endpoint.id} was pushed ${eventId}, which its filter leaves out`);
    }
    const isActive = tables.endpoints.get(endpoint.id)?.is_active === true;
    for (const logged of log) {
      const { orgId, id, event, offset } = logged;
      if (orgId !== endpoint.orgId || !endpoint.events.includes(event)) continue;
      const row = rows.get(`${endpoint.id}/${id}`);
      if (row !== undefined && tables.statusOf(row) === 'pending' && !isWithoutEvent(evidence, row))
        problems.push(`the delivery of ${id} to ${endpoint.id} is pending for ever`);
      if (row?.status === 'delivered' && !got.has(id)) {
        problems.push(`${id} is said to be delivered to ${endpoint.id}, which never accepted it`);
      }
      if (
        row === undefined &&
        isActive &&
        keeps(endpoint, logged) &&
        isOwed(endpoint, offset) &&
        !isWithheld(evidence, logged)
      ) {
        problems.push(`${id} was never scheduled for ${endpoint.id}`);
      }
    }
  }
}

const SECOND_MS = 1_000;
/** Times are sums of fractions. */
const ROUNDING_MS = 1e-3;

/** Whether an endpoint got more within a second than its limit. */
function checkPace({ ledger }: Evidence, problems: string[]): void {
  for (const { id, receipts, pace } of ledger.endpoints.values()) {
    const limit = pace.maxPerSecond;
    if (limit === null) continue;
    const requests = receipts.filter(({ place }) => place === 0);
    const times = requests.map(({ atMs }) => atMs).sort((one, other) => one - other);
    const broken = times.find((atMs, index) => (times[index + limit] ?? Infinity) - atMs < SECOND_MS - ROUNDING_MS);
    if (broken !== undefined) problems.push(`${id} got more than ${limit} within the second from ${broken}`);
  }
}

/**
 * Whether an ordered endpoint got an event for the first time after a later one. Repeats may come in any order. Events from
 * before it was ordered may not come after ordered ones either.
 */
function checkOrder(evidence: Evidence, log: readonly Logged[], problems: string[]): void {
  const byId = new Map(log.map((event) => [event.id, event]));
  for (const endpoint of evidence.ledger.endpoints.values()) {
    if (endpoint.ordering.by === 'none') continue;
    const seen = new Set<EventId>();
    const latest = new Map<string, number>();
    for (const { eventId } of endpoint.receipts) {
      const logged = byId.get(eventId);
      if (logged === undefined || seen.has(eventId)) continue;
      seen.add(eventId);
      const lane = endpoint.ordering.by === 'endpoint' ? '' : subjectIn(logged);
      const before = latest.get(lane) ?? 0;
      // The order may have begun after the log lost it, when the log ended earlier.
      if (isWithheld(evidence, logged)) continue;
      if (logged.seq < before) {
        problems.push(`${endpoint.id} was pushed seq ${logged.seq} for the first time after ${before}`);
      }
      if (logged.offset >= endpoint.orderedFrom) latest.set(lane, Math.max(before, logged.seq));
    }
  }
}

/** Whether each attempt names the event before it to endpoints that ask for it, and to no others. */
function checkChains({ tables, ledger }: Evidence, log: readonly Logged[], problems: string[]): void {
  // Deliveries may be of events that the log has lost.
  if (ledger.wentBack.size > 0) return;
  const seqs = new Map(log.map(({ id, seq }) => [id, seq]));
  const rows = tables.deliveries.values();
  for (const endpoint of ledger.endpoints.values()) {
    const chain = rows.filter(({ ref }) => ref.endpointId === endpoint.id).map(({ ref }) => ref.seq);
    chain.sort((one, other) => one - other);
    for (const { eventId, previous } of endpoint.receipts) {
      const seq = seqs.get(eventId);
      if (seq === undefined || previous === undefined) continue;
      if (!endpoint.hasChain) problems.push(`${endpoint.id} got the event before ${seq}, and did not ask for it`);
      // An event may be routed twice, before and after the endpoint becomes active. It is for the endpoint only then.
      if (endpoint.inactive.length > 0) continue;
      const wanted = chain.findLast((one) => one < seq) ?? 0;
      if (previous === wanted) continue;
      problems.push(`${endpoint.id} got ${previous} as the event before ${seq}, in place of ${wanted}`);
    }
  }
}

function subjectIn({ envelope }: Logged): string {
  const { data } = JSON.parse(envelope.toString()) as { readonly data: { readonly id?: string } };
  return String(data.id);
}

interface ChatEnvelope {
  readonly data: { readonly conversation: { readonly id: string } };
}

function checkAlerts(
  { broker, tables, ledger, topics, alertsWithinMs }: Evidence,
  log: readonly Logged[],
  problems: string[],
): void {
  const told = broker
    .partitionsOf(topics.staffAlerts)
    .flatMap(({ records }) => records)
    .map(({ value }) => (JSON.parse(value?.toString() ?? '') as { readonly alert_id: AlertId }).alert_id);
  for (const [at, id] of told.entries()) if (told.indexOf(id) !== at) problems.push(`the staff got ${id} twice`);
  if (ledger.wentBack.size > 0) return;
  const entered = new Set<string>();
  const answered = new Map<string, number>();
  /** The events of chats that were not answered before them. */
  const timely = new Set<EventId>();
  for (const { id: eventId, event, envelope } of log) {
    if (!event.startsWith('conversation.')) continue;
    const { conversation } = (JSON.parse(envelope.toString()) as ChatEnvelope).data;
    if (!answered.has(conversation.id)) timely.add(eventId);
    if (event === 'conversation.handed_off') entered.add(conversation.id);
    // A client whose request is lost may hand a chat off after it was answered: then it waits.
    else if (event === 'conversation.picked_up' && entered.has(conversation.id)) {
      answered.set(conversation.id, ledger.submitted.get(eventId)?.acceptedAtMs ?? Infinity);
    }
  }
  const ids = new Set(log.map(({ id }) => id));
  for (const { event_id: id, published_at_ms: publishedAtMs, cleared } of tables.alerts.values()) {
    // If the answer comes first, the alert is withheld, unless its event was on the way already.
    if (publishedAtMs !== null && cleared && !timely.has(id)) continue;
    if (publishedAtMs === null || !ids.has(id)) problems.push(`the alert ${id} was raised and is not in the log`);
    if (!told.includes(alertIdOf(id))) problems.push(`the alert ${id} was raised and the staff did not get it`);
  }
  for (const { conversation_id: id, raised_at_ms: raisedAtMs } of tables.alerts.values()) {
    const answeredAtMs = EPOCH_MS + (answered.get(id) ?? Infinity);
    if (raisedAtMs > answeredAtMs && !ledger.clocksWereSet) {
      problems.push(`${id} was answered at ${answeredAtMs}, and got an alert as of ${raisedAtMs}`);
    }
  }
  for (const {
    conversation_id: id,
    stage,
    first_due_ms: firstMs,
    second_due_ms: secondMs,
  } of tables.waiting.values()) {
    if (stage !== 2) problems.push(`${id} waits, and has its alerts only up to ${stage}`);
    for (const alert of tables.alerts.values()) {
      if (alert.conversation_id !== id || alertsWithinMs === null) continue;
      const lateMs = alert.raised_at_ms - (alert.stage === 1 ? firstMs : secondMs);
      if (lateMs > alertsWithinMs) problems.push(`${id} got its alert ${alert.stage} ${lateMs} ms after the threshold`);
    }
  }
}

/** What can be said once everything has settled: each line is a broken promise. */
export function judge(evidence: Evidence): readonly string[] {
  const problems = [...evidence.ledger.breaches];
  const log = readLog(evidence, problems);
  checkLedger(evidence, log, problems);
  checkFeed(evidence, log, problems);
  checkDeliveries(evidence, log, problems);
  checkPace(evidence, problems);
  checkOrder(evidence, log, problems);
  checkChains(evidence, log, problems);
  checkAlerts(evidence, log, problems);
  return problems;
}

/** Returns what has not settled yet, as far as can be seen from outside; `null` once everything has. */
export function unsettled(evidence: Evidence): string | null {
  const { broker, tables, ledger, topics, isStopped } = evidence;
  if (ledger.open > 0) return `${ledger.open} submissions are not answered`;
  const prefix = topics.inbox.slice(0, topics.inbox.indexOf('.'));
  for (const [group, topic] of [
    ['sequencer', topics.inbox],
    ['router', topics.log],
  ] as const) {
    for (const { partition, start, end } of broker.partitionsOf(topic)) {
      // Offsets that were lost are only committed again with the next record.
      if (broker.lostOffsets.has(`${prefix}-${group}`)) continue;
      const committed = broker.group(`${prefix}-${group}`).offsets.get(`${topic}/${partition}`)?.offset ?? 0;
      // A consumer that has read more than there is has to say so.
      const isBehind = (end > start && committed < end) || committed > end;
      if (isBehind && !isStopped(group, topic, partition))
        return `the ${group} is at ${committed} of ${end} in ${topic}/${partition}`;
    }
  }
  for (const [projection, topic] of [
    ['feed', topics.log],
    ['deliveries', topics.deliveries],
  ] as const) {
    for (const { partition, end } of broker.partitionsOf(topic)) {
      const next = tables.offsets.get(`${projection} ${topic}/${partition}`)?.next_offset ?? 0;
      // With the sequencer stopped nothing more comes, by which a projector would notice a late commit of another one.
      const isSaid =
        isStopped(`projector-${projection}`, topic, partition) ||
        (projection === 'feed' && next > end && isStopped('sequencer', topics.inbox, partition));
      if (((end > 0 && next < end) || next > end) && !isSaid)
        return `the projection ${projection} is at ${next} of ${end} in ${topic}/${partition}`;
    }
  }
  if (ledger.wentBack.size === 0) {
    const waiting = tables.waiting.values().find(({ stage }) => stage !== 2);
    if (waiting !== undefined) return `the chat ${waiting.conversation_id} waits for an alert`;
    const alert = tables.alerts
      .values()
      .find(({ published_at_ms: atMs, is_logged, cleared }) => atMs === null || !(is_logged || cleared));
    if (alert !== undefined) return `the alert ${alert.event_id} is not published`;
  }
  const pending = tables.deliveries
    .values()
    .find((row) => tables.statusOf(row) === 'pending' && !isWithoutEvent(evidence, row));
  return pending === undefined
    ? null
    : `the delivery ${pending.ref.deliveryId} to ${pending.ref.endpointId} is pending`;
}
