import { isForAgent, type AgentArrival, type AgentSubscription } from './agent-subscriber.js';
import { alertProblems, isAlertEvent, type StaffAlert } from './chat-alerts.js';
import { isFor, type Arrival, type Registration, type Subscription } from './customer.js';
import type { Ledger, SubmittedEvent } from './ledger.js';

/** A record of the log topic as any Kafka client reads it. */
export interface LogRecord {
  readonly orgId: string;
  readonly seq: number;
  readonly id: string;
  readonly event: string;
  /** When the broker appended it, in epoch milliseconds. */
  readonly appendedAtMs: number;
  readonly envelope: Buffer;
}

/** A page of an org's feed as it was sent. */
export interface FeedPage {
  readonly orgId: string;
  readonly text: string;
}

/** What an endpoint got. */
export interface Received {
  readonly name: string;
  readonly subscription: Subscription;
  /** In the order in which they were first accepted. */
  readonly arrivals: ReadonlyMap<string, Arrival>;
  readonly wrong: readonly string[];
  readonly registered: Registration | null;
}

/** What an agent got by MCP Events. */
export interface AgentReceived {
  readonly name: string;
  readonly subscription: AgentSubscription;
  /** In the order in which it accepted them. */
  readonly arrivals: readonly AgentArrival[];
  readonly wrong: readonly string[];
}

/** Everything there is once all has settled, read as data teams, clients and customers do. */
export interface Evidence {
  readonly ledger: Pick<Ledger, 'submitted' | 'acknowledged' | 'removed' | 'chats'>;
  /** Every record of the log topic, partition by partition in the order of the offsets. */
  readonly log: readonly LogRecord[];
  readonly feeds: readonly FeedPage[];
  readonly received: readonly Received[];
  readonly agents: readonly AgentReceived[];
  readonly staffAlerts: readonly StaffAlert[];
}

/**
 * What the evidence comes to. All but `acknowledged`, `removed`, `skipped`, `pushedTwice`, `byAgents` and `alertsRaised`
 * have to be 0.
 */
export interface Verdict {
  readonly acknowledged: number;
  /** Acknowledged events that the log or the feed does not have. */
  readonly lost: number;
  /** Acknowledged events that the fault took away from wherever they were, and that nobody has. */
  readonly removed: number;
  /** Ids that the log, read by the rule, has more than once. */
  readonly repeated: number;
  /** Seqs that the log, read by the rule, leaves out. */
  readonly gaps: number;
  /** Records of the log that the rule skips; each has to be equal to the one that it repeats. */
  readonly skipped: number;
  /** Events of which log, feed, pushes and submission do not have the same bytes. */
  readonly mismatches: number;
  /** Pushes that an endpoint or an agent never got. */
  readonly unpushed: number;
  /** Events that an ordered endpoint accepted for the first time after a later one, of the same subject if it orders by it. */
  readonly inversions: number;
  /** Pushes that an endpoint accepted again. */
  readonly pushedTwice: number;
  /** Events that agents accepted by MCP Events. */
  readonly byAgents: number;
  /** Alerts that are missing, raised twice, or about a chat that was answered; in the log, or to the staff. */
  readonly alerts: number;
  readonly alertsRaised: number;
  /** The first of what is wrong, in words. */
  readonly problems: readonly string[];
}

const TOLD_PROBLEMS = 10;

/** Counts what is wrong and keeps the first of it in words. */
class Findings {
  readonly problems: string[] = [];
  readonly counts = { lost: 0, repeated: 0, gaps: 0, mismatches: 0, unpushed: 0, inversions: 0, alerts: 0 };

  add(kind: keyof Findings['counts'], problem: string, times = 1): void {
    this.counts[kind] += times;
    if (this.problems.length < TOLD_PROBLEMS) this.problems.push(problem);
  }
}

/** Weighs what the suite knows against what the service shows. Nothing of the service's own code takes part. */
export function judge({ ledger, log, feeds, received, agents, staffAlerts }: Evidence): Verdict {
  const findings = new Findings();
  const { byOrg, skipped } = readByTheRule(log, findings);
  const inLog = new Map([...byOrg.values()].flat().map((record) => [record.id, record]));
  for (const record of inLog.values()) {
    if (!isAlertEvent(record.event)) checkEnvelope(record, ledger.submitted.get(record.id), findings);
  }
  for (const problem of alertProblems(ledger.chats, [...inLog.values()], staffAlerts)) findings.add('alerts', problem);
  const inFeed = new Set<string>();
  for (const [orgId, records] of byOrg) {
    const pages = feeds.filter((page) => page.orgId === orgId);
    for (const id of compareFeed(records, pages, findings)) inFeed.add(id);
  }
  const isRemoved = (id: string) => ledger.removed.has(id) && !inLog.has(id);
  for (const id of ledger.acknowledged) {
    if (isRemoved(id)) continue;
    if (!inLog.has(id)) findings.add('lost', `${id} was acknowledged and is not in the log`);
    else if (!inFeed.has(id)) findings.add('lost', `${id} was acknowledged and is not in the feed`);
  }
  const events = [...ledger.submitted.values()].filter(({ id }) => inLog.has(id));
  for (const endpoint of received) checkOrder(endpoint, inLog, findings);
  const pushedTwice = received.reduce(
    (sum, endpoint) => sum + comparePushes(endpoint, { events, inLog, isRemoved }, findings),
    0,
  );
  for (const agent of agents) compareAgent(agent, { events, inLog, isRemoved }, findings);
  return {
    acknowledged: ledger.acknowledged.size,
    ...findings.counts,
    removed: [...ledger.acknowledged].filter(isRemoved).length,
    alertsRaised: staffAlerts.length,
    skipped,
    pushedTwice,
    byAgents: agents.reduce((sum, { arrivals }) => sum + new Set(arrivals.map(({ eventId }) => eventId)).size, 0),
    problems: findings.problems,
  };
}

/** Ignores a record whose seq is not above the last seen of its org, as every reader of the log has to. */
function readByTheRule(
  log: readonly LogRecord[],
  findings: Findings,
): { readonly byOrg: ReadonlyMap<string, readonly LogRecord[]>; readonly skipped: number } {
  const byOrg = new Map<string, LogRecord[]>();
  let skipped = 0;
  for (const record of log) {
    const read = byOrg.get(record.orgId) ?? [];
    byOrg.set(record.orgId, read);
    const last = read.at(-1)?.seq ?? 0;
    if (record.seq <= last) {
      skipped++;
      const first = read.find(({ seq }) => seq === record.seq);
      if (first?.envelope.equals(record.envelope) !== true) {
        findings.add('mismatches', `seq ${record.seq} of ${record.orgId} stands twice in the log, differently`);
      }
      continue;
    }
    if (record.seq > last + 1) {
      const text = `the log of ${record.orgId} goes from seq ${last} to ${record.seq}`;
      findings.add('gaps', text, record.seq - last - 1);
    }
    read.push(record);
  }
  for (const [orgId, records] of byOrg) {
    const seen = new Set<string>();
    for (const { id } of records) {
      if (seen.has(id)) findings.add('repeated', `${id} has two seqs in the log of ${orgId}`);
      seen.add(id);
    }
  }
  return { byOrg, skipped };
}

/** The envelope has to say what was submitted, in the very text of it, and nothing else (contract 3.2). */
function checkEnvelope(record: LogRecord, submitted: SubmittedEvent | undefined, findings: Findings): void {
  const text = record.envelope.toString();
  if (submitted === undefined) {
    findings.add('mismatches', `${record.id} is in the log and was never submitted`);
    return;
  }
  const { occurred_at: occurredAt } = JSON.parse(text) as { occurred_at: string };
  const widgetId = submitted.widgetId === null ? 'null' : `"${submitted.widgetId}"`;
  const expected =
    `{"id":"${submitted.id}","seq":${record.seq},"event":"${submitted.event}",` +
    `"occurred_at":"${occurredAt}","timestamp":"${occurredAt}",` +
    `"org_id":"${submitted.orgId}","widget_id":${widgetId},"data":${submitted.dataJson}}`;
  if (text !== expected) findings.add('mismatches', `${record.id} is not in the log as it was submitted: ${text}`);
}

/** @returns the ids of the events that the feed has */
function compareFeed(
  records: readonly LogRecord[],
  pages: readonly FeedPage[],
  findings: Findings,
): ReadonlySet<string> {
  const found = new Set<string>();
  let at = 0;
  for (const { text } of pages) {
    const { data } = JSON.parse(text) as { data: readonly { id: string; seq: number }[] };
    const expected = records.slice(at, at + data.length);
    at += data.length;
    for (const { id } of data) found.add(id);
    const items = expected.map(({ envelope }) => envelope.toString()).join(',');
    if (text.startsWith(`{"data":[${items}],"next_seq":`)) continue;
    for (const [index, item] of data.entries()) {
      const record = expected[index];
      if (record !== undefined && text.includes(record.envelope.toString()) && record.seq === item.seq) continue;
      findings.add('mismatches', `the feed has ${item.id} at seq ${item.seq} otherwise than the log`);
    }
  }
  return found;
}

/** What endpoints may have been pushed. */
interface Pushable {
  readonly events: readonly SubmittedEvent[];
  readonly inLog: ReadonlyMap<string, LogRecord>;
  /** Whether it may have been pushed before the fault took it away. */
  readonly isRemoved: (id: string) => boolean;
}

/** @returns how often a push was accepted again */
function comparePushes(
  { name, subscription, arrivals, wrong, registered }: Received,
  { events, inLog, isRemoved }: Pushable,
  findings: Findings,
): number {
  for (const problem of wrong) findings.add('mismatches', problem);
  const forIt = new Set(events.filter((event) => isFor(subscription, event)).map(({ id }) => id));
  const appendedAtMs = (id: string) => inLog.get(id)?.appendedAtMs ?? 0;
  for (const id of forIt) {
    if (registered !== null && appendedAtMs(id) <= registered.beforeMs) continue;
    if (!arrivals.has(id)) findings.add('unpushed', `${name} never got ${id}`);
  }
  let again = 0;
  for (const [id, { body, accepted }] of arrivals) {
    again += accepted - 1;
    if (isRemoved(id)) continue;
    if (!forIt.has(id)) findings.add('mismatches', `${name} got ${id}, which is not for it`);
    else if (registered !== null && appendedAtMs(id) < registered.afterMs) {
      findings.add('mismatches', `${name} got ${id}, which is older than the endpoint`);
    } else if (inLog.get(id)?.envelope.equals(body) !== true) {
      findings.add('mismatches', `${name} got other bytes of ${id} than the log has`);
    }
  }
  return again;
}

/**
 * Nothing fails for good here. So an ordered endpoint has to accept each event before the first push of a later one, even
 * if it refuses it at first. Repeats may come at any time.
 */
function checkOrder(
  { name, subscription: { ordering }, arrivals }: Received,
  inLog: ReadonlyMap<string, LogRecord>,
  findings: Findings,
): void {
  if (ordering === undefined) return;
  const latest = new Map<string, number>();
  for (const id of arrivals.keys()) {
    const record = inLog.get(id);
    if (record === undefined) continue;
    const lane = ordering.by === 'endpoint' ? '' : subjectOf(record);
    const before = latest.get(lane) ?? 0;
    if (record.seq < before) findings.add('inversions', `${name} got seq ${record.seq} after ${before}`);
    latest.set(lane, Math.max(before, record.seq));
  }
}

/** Returns the id of the ticket that the event is about. */
function subjectOf({ envelope }: LogRecord): string {
  const { data } = JSON.parse(envelope.toString()) as { data: { id?: string } };
  return data.id ?? '';
}

/**
 * An agent has to get every event that it selects, with the payload's very text. Whatever cursor it stores, it must have
 * accepted everything up to there: it would never ask for it again.
 */
function compareAgent(
  { name, subscription, arrivals, wrong }: AgentReceived,
  { events, inLog, isRemoved }: Pushable,
  findings: Findings,
): void {
  for (const problem of wrong) findings.add('mismatches', problem);
  const forIt = new Map(events.filter((event) => isForAgent(subscription, event)).map((event) => [event.id, event]));
  const open = new Map([...forIt.keys()].map((id) => [id, inLog.get(id)?.seq ?? 0]));
  for (const { eventId, seq, cursorSeq, dataJson } of arrivals) {
    const passed = [...open].find(([, openSeq]) => openSeq <= cursorSeq)?.[0];
    if (passed !== undefined)
      findings.add('mismatches', `${name} got a cursor after ${passed}, which it had not accepted`);
    open.delete(eventId);
    if (isRemoved(eventId)) continue;
    const event = forIt.get(eventId);
    if (event === undefined) findings.add('mismatches', `${name} got ${eventId}, which is not for it`);
    else if (dataJson !== event.dataJson || seq !== inLog.get(eventId)?.seq) {
      findings.add('mismatches', `${name} got ${eventId} otherwise than the log has it`);
    }
  }
  for (const id of open.keys()) findings.add('unpushed', `${name} never got ${id}`);
}

/** Whether nothing is wrong that the service promises. */
export function holds({ lost, repeated, gaps, mismatches, unpushed, inversions, alerts }: Verdict): boolean {
  return lost + repeated + gaps + mismatches + unpushed + inversions + alerts === 0;
}
