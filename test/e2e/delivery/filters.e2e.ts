import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from '../../support/api-client.js';
import { anApiKey } from '../../support/api-keys.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { Store } from '#libs/postgres';
import { always } from './support/answers.js';
import { DeliverySuite, type Subscribed } from './support/delivery-suite.js';
import type { Operator } from './support/operator.js';

let suite: DeliverySuite;

beforeAll(async () => {
  suite = await DeliverySuite.start({ RETRY_SCHEDULE: '1s,2s' });
});

afterAll(() => suite.stop());

const URGENT = 'event.data.priority == "urgent"';

function ticket(priority?: unknown) {
  return { event: 'ticket.created', data: priority === undefined ? {} : { priority } };
}

/** The priorities of the events that were pushed, in the order of their seqs. */
function pushed({ receiver }: Subscribed): readonly unknown[] {
  const bodies = receiver.received.map(
    ({ body }) =>
      JSON.parse(body.toString()) as { readonly seq: number; readonly data: { readonly priority?: unknown } },
  );
  return bodies.toSorted((a, b) => a.seq - b.seq).map(({ data }) => data.priority);
}

async function expectPushed(to: Subscribed, priorities: readonly unknown[]): Promise<void> {
  await eventually(() => {
    expect(pushed(to)).toEqual(priorities);
  });
}

async function answersTo({ operator }: Subscribed, eventId: string): Promise<readonly string[]> {
  const answer = await operator.api.request('GET', `/external/events/${eventId}/deliveries`);
  return (JSON.parse(answer.text) as { data: readonly { answer: string }[] }).data.map((one) => one.answer);
}

describe('a filter', () => {
  it.concurrent('decides what is pushed, and the feed has everything', async () => {
    const to = await suite.aSubscriber({ filter: URGENT });
    expect(await to.operator.endpoint(to.endpoint.id)).toMatchObject({ filter: URGENT });
    const [low, urgent] = await to.operator.emit(ticket('low'), ticket('urgent'), ticket('low'), ticket('urgent'));
    await expectPushed(to, ['urgent', 'urgent']);
    await eventually(async () => {
      const feed = JSON.parse((await to.operator.api.request('GET', '/external/events')).text) as { data: unknown[] };
      expect(feed.data).toHaveLength(4);
      expect(await to.operator.deliveries(to.endpoint.id)).toHaveLength(2);
    });
    await eventually(async () => {
      expect(await answersTo(to, urgent!)).toEqual(['delivered']);
    });
    expect(await answersTo(to, low!)).toEqual(['filtered']);
  });

  it.concurrent('without an answer lets the event through', async () => {
    const to = await suite.aSubscriber({ filter: URGENT });
    await to.operator.emit(ticket(), ticket('low'), ticket(['urgent']), ticket('urgent'));
    // A text is not equal to a list. So only the event without a priority has no answer.
    await expectPushed(to, [undefined, 'urgent']);
  });

  it.concurrent('does not count for tests and examples', async () => {
    const to = await suite.aSubscriber({ filter: 'event.seq < 0' });
    await to.operator.test(to.endpoint.id);
    const example = await to.operator.api.request(
      'POST',
      `/external/webhooks/${to.endpoint.id}/send-example`,
      '{"event":"ticket.created"}',
    );
    expect(example.status).toBe(202);
    await eventually(() => {
      expect(to.receiver.received).toHaveLength(2);
    });
    const unfiltered = await suite.aReceiver(always(200));
    await to.operator.register({ url: unfiltered.url, events: ['ticket.created'] });
    await to.operator.emit(ticket('low'));
    await eventually(() => {
      expect(unfiltered.received).toHaveLength(1);
    });
    expect(to.receiver.received).toHaveLength(2);
  });

  it.concurrent('can be changed and removed, which counts for the next event', async () => {
    const to = await suite.aSubscriber({ filter: URGENT });
    await to.operator.emit(ticket('low'), ticket('urgent'));
    await expectPushed(to, ['urgent']);
    const low = 'event.data.priority == "low"';
    expect(await to.operator.change(to.endpoint.id, { filter: low })).toMatchObject({ filter: low });
    await to.operator.emit(ticket('urgent'), ticket('low'));
    await expectPushed(to, ['urgent', 'low']);
    expect(await to.operator.change(to.endpoint.id, { filter: null })).toMatchObject({ filter: null });
    await to.operator.emit(ticket('other'));
    await expectPushed(to, ['urgent', 'low', 'other']);
    const logged = await suite.query<{ filter: string | null }>(
      `select details->>'filter' as filter from audit_log
       where org_id = $1 and action in ('endpoint.created', 'endpoint.changed') order by at`,
      [to.operator.orgId],
    );
    expect(logged.map(({ filter }) => filter)).toEqual([URGENT, low, null]);
  });

  it.concurrent('applies to missed events that are recovered, and not to replays', async () => {
    const to = await suite.aSubscriber({ filter: URGENT });
    await to.operator.emit(ticket('urgent'));
    await expectPushed(to, ['urgent']);
    const [delivery] = await eventually(async () => {
      const found = await to.operator.deliveries(to.endpoint.id);
      expect(found).toMatchObject([{ status: 'delivered' }]);
      return found;
    });
    await to.operator.change(to.endpoint.id, { is_active: false });
    const ids = await to.operator.emit(ticket('low'), ticket('urgent'), ticket());
    await eventually(async () => {
      expect((await to.operator.api.request('GET', `/external/events/${ids[2]!}`)).status).toBe(200);
    });
    await to.operator.change(to.endpoint.id, { is_active: true });
    const missed = { since_seq: 0, status: 'missed' };
    expect(await to.operator.recover(to.endpoint.id, { ...missed, dry_run: true })).toMatchObject({ matched: 2 });
    expect(await to.operator.recover(to.endpoint.id, missed)).toEqual({ matched: 2, scheduled: 2 });
    await expectPushed(to, ['urgent', 'urgent', undefined]);
    await to.operator.change(to.endpoint.id, { filter: 'event.seq < 0' });
    await to.operator.replay(to.endpoint.id, delivery!.id);
    await expectPushed(to, ['urgent', 'urgent', 'urgent', undefined]);
  });
});

describe('a new endpoint with a filter', () => {
  it.concurrent('recovers only the events of the feed that match', async () => {
    const operator = await suite.anOperator();
    const ids = await operator.emit(ticket('low'), ticket('urgent'), ticket('low'));
    await eventually(async () => {
      expect((await operator.api.request('GET', `/external/events/${ids[2]!}`)).status).toBe(200);
    });
    const receiver = await suite.aReceiver(always(200));
    const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'], filter: URGENT });
    const neverSent = { since_seq: 0, status: 'never_sent' };
    expect(await operator.recover(endpoint.id, { ...neverSent, dry_run: true })).toMatchObject({ matched: 1 });
    await operator.recover(endpoint.id, neverSent);
    await expectPushed({ operator, receiver, endpoint }, ['urgent']);
  });
});

describe('a filter that cannot be accepted', () => {
  const refused = (detail: RegExp) => ({
    status: 422,
    code: 'validation_failed',
    errors: [{ pointer: '#/filter', code: 'invalid_filter', detail: expect.stringMatching(detail) as unknown }],
  });

  it.concurrent.each<[string, unknown, RegExp]>([
    ['does not parse', 'event.data.priority ==', /^line 1, column 23: Unexpected token/],
    ['has its mistake on a later line', 'event.seq > 1 &&\n  event.seqq > 1', /^line 2, column 9: .*no member "seqq"/],
    ['is not a bool', '1 + 1', /must be a bool/],
    ['has a regular expression', 'event.data.subject.matches("(a+)+$")', /regular expressions are not available/],
  ])('%s', async (_what, filter, detail) => {
    const operator = await suite.anOperator();
    const receiver = await suite.aReceiver();
    const body = { url: receiver.url, events: ['ticket.created'], filter };
    expect(await operator.refusal('POST', '/external/webhooks', body)).toMatchObject(refused(detail));
    expect(await operator.endpoints()).toEqual([]);
  });

  it.concurrent.each<[string, unknown, string]>([
    ['a number', 5, 'wrong_type'],
    ['2,001 characters', `true${' '.repeat(1_997)}`, 'out_of_range'],
    ['50 KB', `"${'a'.repeat(50_000)}" == ""`, 'out_of_range'],
    ['a control character', 'true\u0000', 'invalid_format'],
  ])('is %s', async (_what, filter, code) => {
    const operator = await suite.anOperator();
    const body = { url: 'https://example.com/', events: ['ticket.created'], filter };
    expect(await operator.refusal('POST', '/external/webhooks', body)).toMatchObject({
      errors: [{ pointer: '#/filter', code }],
    });
  });

  it.concurrent('is not for one of the types, also when the types change', async () => {
    const filter = 'event.data.source == "telegram"';
    const { operator, receiver, endpoint } = await suite.aSubscriber({ filter, events: ['lead.created'] });
    const path = `/external/webhooks/${endpoint.id}`;
    const events = ['lead.created', 'conversation.queued'];
    const detail = /column 12: event.data of conversation.queued has no member "source"/;
    expect(await operator.refusal('POST', '/external/webhooks', { url: receiver.url, events, filter })).toMatchObject(
      refused(detail),
    );
    expect(await operator.refusal('PATCH', path, { events })).toMatchObject(refused(detail));
    expect(await operator.endpoint(endpoint.id)).toMatchObject({ events: ['lead.created'], filter });
    const careful = `event.event != "lead.created" || ${filter}`;
    expect(await operator.change(endpoint.id, { events, filter: careful })).toMatchObject({ events, filter: careful });
  });
});

describe('the test of a filter', () => {
  interface Tested {
    readonly tested: number;
    readonly matched: number;
    readonly left_out: number;
    readonly failed: number;
    readonly is_complete: boolean;
    readonly events: readonly { readonly id: string; readonly seq: number; readonly result: string }[];
  }

  async function tested(operator: Operator, body: object): Promise<Tested> {
    const answer = await operator.api.request('POST', '/external/webhooks/filter-test', JSON.stringify(body));
    if (answer.status !== 200) throw new Error(answer.text);
    return (JSON.parse(answer.text) as { data: Tested }).data;
  }

  it.concurrent('says what the filter does with the stored events of the organization', async () => {
    const operator = await suite.anOperator();
    const ids = await operator.emit(ticket('urgent'), ticket('low'), ticket(), {
      event: 'ticket.reply',
      data: { priority: 'urgent' },
    });
    const all = await eventually(async () => {
      const result = await tested(operator, { filter: URGENT });
      expect(result.tested).toBe(4);
      return result;
    });
    expect(all).toMatchObject({ matched: 2, left_out: 1, failed: 1, is_complete: true });
    expect(all.events).toEqual([
      expect.objectContaining({ id: ids[3], seq: 4, event: 'ticket.reply', result: 'matched', reason: null }),
      expect.objectContaining({ id: ids[2], seq: 3, result: 'failed', reason: 'No such key: priority.' }),
      expect.objectContaining({ id: ids[1], seq: 2, result: 'left_out', reason: null }),
      expect.objectContaining({ id: ids[0], seq: 1, result: 'matched' }),
    ]);
    const some = await tested(operator, { filter: URGENT, events: ['ticket.created'], since: 1, limit: 1 });
    expect(some).toMatchObject({ tested: 1, is_complete: false, events: [{ id: ids[2] }] });
    expect(await tested(await suite.anOperator(), { filter: URGENT })).toMatchObject({ tested: 0, is_complete: true });
  });

  it.concurrent('refuses the same filters, and keys without both scopes', async () => {
    const operator = await suite.anOperator();
    const path = '/external/webhooks/filter-test';
    const unknown = { filter: 'event.data.sourse == "a"', events: ['lead.created'] };
    expect(await operator.refusal('POST', path, unknown)).toMatchObject({
      status: 422,
      errors: [{ pointer: '#/filter', code: 'invalid_filter' }],
    });
    expect(await tested(operator, { filter: unknown.filter })).toMatchObject({ tested: 0 });
    expect(await operator.refusal('POST', path, { filter: 'event.' })).toMatchObject({ status: 422 });
    for (const scopes of [['events:read'], ['webhooks:read']] as const) {
      const key = await anApiKey(suite.app.app.get(Store), operator.orgId, [...scopes]);
      const answer = await new ApiClient(suite.app.url, key).request('POST', path, '{"filter":"true"}');
      expect([answer.status, JSON.parse(answer.text)]).toEqual([
        403,
        expect.objectContaining({ code: 'insufficient_scope' }),
      ]);
    }
  });

  it.concurrent('is one at a time for an organization', async () => {
    const operator = await suite.anOperator();
    const ask = () => operator.api.request('POST', '/external/webhooks/filter-test', '{"filter":"true"}');
    const statuses = (await Promise.all(Array.from({ length: 12 }, ask))).map(({ status }) => status);
    expect(statuses).toContain(200);
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    expect((await ask()).status).toBe(200);
  });
});
