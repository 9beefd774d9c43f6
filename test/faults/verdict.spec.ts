import { describe, expect, it } from '@jest/globals';
import type { AgentArrival } from './agent-subscriber.js';
import type { Arrival, Ordering, Registration } from './customer.js';
import type { SubmittedEvent } from './ledger.js';
import { holds, judge, type Evidence, type LogRecord, type Verdict } from './verdict.js';

const ORG = '0f8fad5b-d9cb-469f-a165-70867728950e';
const OTHER_ORG = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

function anEvent(n: number, orgId = ORG): SubmittedEvent {
  const id = `evt_${String(n).padStart(26, '0')}`;
  return { id, orgId, event: 'ticket.created', widgetId: null, dataJson: `{"n": ${n}.0}` };
}

function envelopeOf({ id, orgId, event, dataJson }: SubmittedEvent, seq: number): Buffer {
  const at = '2026-03-02T09:00:00.000Z';
  return Buffer.from(
    `{"id":"${id}","seq":${seq},"event":"${event}","occurred_at":"${at}","timestamp":"${at}",` +
      `"org_id":"${orgId}","widget_id":null,"data":${dataJson}}`,
  );
}

function aRecord(event: SubmittedEvent, seq: number, envelope = envelopeOf(event, seq)): LogRecord {
  return { orgId: event.orgId, seq, id: event.id, event: event.event, appendedAtMs: 1_000 * seq, envelope };
}

function pageOf(records: readonly LogRecord[], orgId = ORG) {
  return { orgId, text: `{"data":[${records.map(({ envelope }) => envelope.toString()).join(',')}],"next_seq":null}` };
}

const EVENTS = [anEvent(1), anEvent(2), anEvent(3)];
const RECORDS = EVENTS.map((event, index) => aRecord(event, index + 1));

/** Three events that went through without a fault, but for what `change` says. */
function evidence(
  change: Partial<Evidence> & {
    arrivals?: ReadonlyMap<string, Arrival>;
    registered?: Registration;
    ordering?: Ordering;
  } = {},
): Evidence {
  const arrivals = change.arrivals ?? new Map(RECORDS.map(({ id, envelope }) => [id, { body: envelope, accepted: 1 }]));
  const { ordering } = change;
  const subscription = { orgId: ORG, events: ['ticket.created'], widgetIds: null, ...(ordering && { ordering }) };
  return {
    ledger: {
      submitted: new Map(EVENTS.map((event) => [event.id, event])),
      acknowledged: new Set(EVENTS.map(({ id }) => id)),
      removed: new Set<string>(),
      chats: new Map(),
    },
    staffAlerts: [],
    agents: [],
    log: RECORDS,
    feeds: [pageOf(change.log === undefined ? RECORDS : change.log.filter(({ orgId }) => orgId === ORG))],
    received: [{ name: 'all', subscription, arrivals, wrong: [], registered: change.registered ?? null }],
    ...change,
  };
}

/** Of a verdict only what is not 0. */
function counts(verdict: Verdict) {
  const { lost, repeated, gaps, mismatches, unpushed, inversions, alerts, skipped, pushedTwice } = verdict;
  const counted = { lost, repeated, gaps, mismatches, unpushed, inversions, alerts, skipped, pushedTwice };
  const all = Object.entries(counted);
  return Object.fromEntries(all.filter(([, count]) => count > 0));
}

describe('the verdict', () => {
  it('is clean when everything is there once and equal', () => {
    const verdict = judge(evidence());
    expect(counts(verdict)).toEqual({});
    expect(verdict.acknowledged).toBe(3);
    expect(holds(verdict)).toBe(true);
  });

  it('reports an event that was acknowledged and is not in the log', () => {
    const verdict = judge(evidence({ log: RECORDS.slice(0, 2) }));
    expect(counts(verdict)).toMatchObject({ lost: 1 });
    expect(verdict.problems[0]).toContain('not in the log');
    expect(holds(verdict)).toBe(false);
  });

  it('expects of an endpoint that came later what came after it, and nothing older', () => {
    const late = { afterMs: 1_500, beforeMs: 1_600 };
    const arrivals = new Map(RECORDS.slice(1).map(({ id, envelope }) => [id, { body: envelope, accepted: 1 }]));
    expect(counts(judge(evidence({ registered: late, arrivals })))).toEqual({});
    const old = judge(evidence({ registered: late }));
    expect(counts(old)).toEqual({ mismatches: 1 });
    expect(old.problems[0]).toContain('older than the endpoint');
    expect(counts(judge(evidence({ registered: late, arrivals: new Map() })))).toEqual({ unpushed: 2 });
  });

  it('lets an event be missing that was never acknowledged', () => {
    const { ledger } = evidence();
    const acknowledged = new Set([EVENTS[0]!.id, EVENTS[1]!.id]);
    const arrivals = new Map(RECORDS.slice(0, 2).map(({ id, envelope }) => [id, { body: envelope, accepted: 1 }]));
    const log = RECORDS.slice(0, 2);
    expect(counts(judge(evidence({ ledger: { ...ledger, acknowledged }, log, arrivals })))).toEqual({});
  });

  it('lets an event be missing that the fault itself took away, though it was pushed, and counts it', () => {
    const removed = new Set([EVENTS[2]!.id]);
    const verdict = judge(evidence({ ledger: { ...evidence().ledger, removed }, log: RECORDS.slice(0, 2) }));
    expect(counts(verdict)).toEqual({});
    expect(verdict.removed).toBe(1);
    expect(judge(evidence({ ledger: { ...evidence().ledger, removed } })).removed).toBe(0);
    const log = RECORDS.slice(0, 1);
    expect(counts(judge(evidence({ ledger: { ...evidence().ledger, removed }, log })))).toMatchObject({ lost: 1 });
  });

  it('reports an event that is in the log and not in the feed', () => {
    const verdict = judge(evidence({ feeds: [pageOf(RECORDS.slice(0, 2))] }));
    expect(counts(verdict)).toEqual({ lost: 1 });
    expect(verdict.problems[0]).toContain('not in the feed');
  });

  it('counts each seq that is left out', () => {
    const log = [RECORDS[0]!, aRecord(EVENTS[1]!, 4), aRecord(EVENTS[2]!, 5)];
    expect(counts(judge(evidence({ log })))).toMatchObject({ gaps: 2 });
  });

  it('reports an id that has two seqs', () => {
    const log = [...RECORDS, aRecord(EVENTS[0]!, 4)];
    expect(counts(judge(evidence({ log })))).toMatchObject({ repeated: 1 });
  });

  it('counts equal repeats of a record as skipped, and holds', () => {
    const verdict = judge(evidence({ log: [...RECORDS, RECORDS[1]!, RECORDS[2]!], feeds: [pageOf(RECORDS)] }));
    expect(counts(verdict)).toEqual({ skipped: 2 });
    expect(holds(verdict)).toBe(true);
  });

  it('reports a repeat that is not equal to the record', () => {
    const different = aRecord(EVENTS[1]!, 2, Buffer.from('{}'));
    const verdict = judge(evidence({ log: [...RECORDS, different], feeds: [pageOf(RECORDS)] }));
    expect(counts(verdict)).toEqual({ skipped: 1, mismatches: 1 });
    expect(holds(verdict)).toBe(false);
  });

  it('reports a payload that was parsed and printed again', () => {
    const printed = Buffer.from(RECORDS[1]!.envelope.toString().replace('{"n": 2.0}', '{"n":2}'));
    const log = [RECORDS[0]!, aRecord(EVENTS[1]!, 2, printed), RECORDS[2]!];
    expect(counts(judge(evidence({ log })))).toMatchObject({ mismatches: 2 });
  });

  it('reports a feed that has other bytes than the log', () => {
    const text = pageOf(RECORDS).text.replace('{"n": 2.0}', '{"n":2}');
    expect(counts(judge(evidence({ feeds: [{ orgId: ORG, text }] })))).toEqual({ mismatches: 1 });
  });

  it('reports an event that nobody submitted', () => {
    const log = [...RECORDS, aRecord(anEvent(4, OTHER_ORG), 1)];
    expect(counts(judge(evidence({ log })))).toEqual({ mismatches: 1 });
  });

  it('reports an event that an endpoint never got', () => {
    const arrivals = new Map([[RECORDS[0]!.id, { body: RECORDS[0]!.envelope, accepted: 1 }]]);
    const verdict = judge(evidence({ arrivals }));
    expect(counts(verdict)).toEqual({ unpushed: 2 });
    expect(holds(verdict)).toBe(false);
  });

  it('counts what an endpoint accepted again, and holds', () => {
    const arrivals = new Map(RECORDS.map(({ id, envelope }) => [id, { body: envelope, accepted: 3 }]));
    const verdict = judge(evidence({ arrivals }));
    expect(counts(verdict)).toEqual({ pushedTwice: 6 });
    expect(holds(verdict)).toBe(true);
  });

  it('reports pushes of other bytes, and of events that are not for the endpoint', () => {
    const arrivals = new Map(RECORDS.map(({ id, envelope }) => [id, { body: envelope, accepted: 1 }]));
    arrivals.set(RECORDS[0]!.id, { body: Buffer.from('{}'), accepted: 1 });
    arrivals.set('evt_of_somebody_else', { body: Buffer.from('{}'), accepted: 1 });
    expect(counts(judge(evidence({ arrivals })))).toEqual({ mismatches: 2 });
  });

  it('reports what an ordered endpoint got after a later event, of the same subject if it orders by it', () => {
    // The first and the third one are about one ticket.
    const events = [1, 2, 3].map((n) => ({ ...anEvent(n), dataJson: `{"id":"tkt_${n % 2}"}` }));
    const log = events.map((event, index) => aRecord(event, index + 1));
    const ledger = { ...evidence().ledger, submitted: new Map(events.map((event) => [event.id, event])) };
    const of = (by: Ordering['by'] | 'none', ...order: readonly number[]) => {
      const arrivals = new Map(
        order.map((n) => [events[n - 1]!.id, { body: log[n - 1]!.envelope, accepted: n }] as const),
      );
      return counts(judge(evidence({ ledger, log, arrivals, ...(by !== 'none' && { ordering: { by, batch: 1 } }) })));
    };
    const pushedTwice = 3;
    expect(of('endpoint', 1, 2, 3)).toEqual({ pushedTwice });
    expect(of('endpoint', 3, 1, 2)).toEqual({ pushedTwice, inversions: 2 });
    expect(of('subject', 2, 1, 3)).toEqual({ pushedTwice });
    expect(of('subject', 3, 2, 1)).toEqual({ pushedTwice, inversions: 1 });
    expect(of('none', 3, 2, 1)).toEqual({ pushedTwice });
  });

  it('expects of an agent every event that it selects, and cursors that pass none', () => {
    const subscription = {
      orgId: ORG,
      event: 'ticket.created',
      arguments: {},
      selects: (data: unknown) => (data as { n: number }).n !== 2,
    };
    const arrival = (n: number, cursorSeq: number, dataJson = `{"n": ${n}.0}`) => {
      return { eventId: anEvent(n).id, seq: n, cursorSeq, dataJson };
    };
    const of = (...arrivals: readonly AgentArrival[]) =>
      counts(judge(evidence({ agents: [{ name: 'an agent', subscription, arrivals, wrong: [] }] })));
    expect(of(arrival(3, 0), arrival(1, 0))).toEqual({});
    expect(of(arrival(1, 0), arrival(3, 2), arrival(3, 3))).toEqual({});
    expect(of(arrival(3, 0))).toEqual({ unpushed: 1 });
    expect(of(arrival(3, 1), arrival(1, 0))).toEqual({ mismatches: 1 });
    expect(of(arrival(1, 0), arrival(3, 0, '{"n":3}'))).toEqual({ mismatches: 1 });
    expect(of(arrival(1, 0), arrival(2, 0), arrival(3, 0))).toEqual({ mismatches: 1 });
  });

  it('names the first problem, and counts all of them', () => {
    const log: readonly LogRecord[] = [];
    const many = Array.from({ length: 40 }, (_, n) => anEvent(n + 1));
    const ledger = {
      submitted: new Map(many.map((event) => [event.id, event])),
      acknowledged: new Set(many.map(({ id }) => id)),
      removed: new Set<string>(),
      chats: new Map(),
    };
    const verdict = judge(evidence({ ledger, log, feeds: [], arrivals: new Map() }));
    expect(verdict.lost).toBe(40);
    expect(verdict.problems).toHaveLength(10);
  });
});
