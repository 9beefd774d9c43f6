import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Store } from '#libs/postgres';
import type { OrgId } from '#libs/domain';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { DispatcherModule } from '../../apps/dispatcher/src/dispatcher.module.js';
import { ProjectorModule } from '../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';
import { ApiClient, type Webhook } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { scrape } from '../support/scrape.js';
import { aStageProcess, type StageProcess } from '../support/stage-process.js';
import { API_HTTP } from '../support/stages.js';

const OPERATIONAL = ['endpoint.failing', 'endpoint.disabled', 'endpoint.enabled', 'delivery.exhausted'];
const operationsOrg = anOrgId();

let gapless: GaplessUnderTest;
let baseUrl: string;
let store: Store;
let alerting: StageProcess;
let operations: ApiClient;
let receivers: Receiver[];

beforeAll(async () => {
  receivers = [];
  // Each delivery has two attempts, and the fourth failure disables.
  gapless = await aGapless({
    OPERATIONS_ORG_ID: operationsOrg,
    AUTO_DISABLE_AFTER: '4',
    RETRY_SCHEDULE: '100ms',
    SWEEP_INTERVAL: '1d',
  });
  const stages = [ApiModule, SequencerModule, DispatcherModule, ProjectorModule];
  const app = await gapless.start(stages, { http: API_HTTP });
  baseUrl = app.url;
  store = app.app.get(Store);
  operations = await anApi(operationsOrg);
  alerting = await aStageProcess('alerting', gapless.environment);
  await alerting.ready();
});

afterAll(async () => {
  await alerting.stop();
  await gapless.stop();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

async function anApi(orgId: OrgId | null): Promise<ApiClient> {
  return new ApiClient(baseUrl, await anApiKey(store, orgId));
}

async function receiving(status: number): Promise<Receiver> {
  const receiver = await aReceiver((_request, response) => response.writeHead(status).end());
  receivers.push(receiver);
  return receiver;
}

async function failuresOf(api: ApiClient, { id }: Webhook): Promise<number> {
  return (
    JSON.parse((await api.request('GET', `/external/webhooks/${id}`)).text) as { data: { failure_count: number } }
  ).data.failure_count;
}

/** Ends the minute of all that is counted, as waiting would. */
async function endMinutes(): Promise<void> {
  await store.query('update operational_events set due_at = now() where closed_at is null', []);
}

/** Stops alerting when it has written events to Kafka, and before it has noted that. */
async function standStillBeforeNoting(): Promise<void> {
  await store.query(
    `create function stand_still() returns trigger language plpgsql as
       'begin if new.published_at is not null then perform pg_sleep(120); end if; return new; end';
     create trigger stand_still before update on operational_events for each row execute function stand_still()`,
    [],
  );
}

async function killAlerting(): Promise<void> {
  alerting.signal('SIGKILL');
  await alerting.ended;
  await store.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and wait_event = 'PgSleep'`,
    [],
  );
  await store.query('drop trigger stand_still on operational_events; drop function stand_still', []);
}

interface OperationalEvent {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly endpoint: { readonly id: string }; readonly count?: number; readonly minute?: string };
}

async function operationalFeed(endpointId: string): Promise<readonly OperationalEvent[]> {
  const events = (await operations.feed()) as unknown as readonly OperationalEvent[];
  return events.filter(({ event, data }) => OPERATIONAL.includes(event) && data.endpoint.id === endpointId);
}

describe('operational events (contract 7.5)', () => {
  it('are pushed and pulled once each, though the stage that raises them is killed before it notes that', async () => {
    const sink = await receiving(200);
    await operations.createWebhook({ url: sink.url, events: OPERATIONAL });
    const customer = await anApi(anOrgId());
    const failing = await receiving(500);
    const webhook = await customer.createWebhook({ url: failing.url, events: ['ticket.created'], name: 'Broken' });
    await standStillBeforeNoting();
    await customer.emit([{ event: 'ticket.created', data: {} }]);
    await eventually(async () => {
      expect((await operationalFeed(webhook.id)).map(({ event }) => event)).toEqual(['endpoint.failing']);
    });
    await killAlerting();
    const unpublished = await store.query<{ event: string }>(
      'select event from operational_events where endpoint_id = $1 and published_at is null order by position',
      [webhook.id],
    );
    expect(unpublished.map(({ event }) => event)).toEqual(['endpoint.failing', 'delivery.exhausted']);
    await customer.emit([{ event: 'ticket.created', data: {} }]);
    await eventually(async () => {
      expect((await customer.webhook(webhook.id)).is_active).toBe(false);
    });
    await customer.request('PATCH', `/external/webhooks/${webhook.id}`, JSON.stringify({ is_active: true }));
    await endMinutes();
    alerting = await aStageProcess('alerting', gapless.environment);
    const events = await eventually(async () => {
      const found = await operationalFeed(webhook.id);
      expect(found.filter(({ event }) => event === 'endpoint.enabled')).toHaveLength(1);
      expect(found.reduce((sum, { data }) => sum + (data.count ?? 0), 0)).toBe(2);
      return found;
    });
    expect(events.filter(({ event }) => event !== 'delivery.exhausted')).toMatchObject([
      {
        event: 'endpoint.failing',
        data: { endpoint: { name: 'Broken', url: new URL(failing.url).origin }, failure_count: 2, attempt: 2 },
      },
      { event: 'endpoint.disabled', data: { activation: 1, reason: 'consecutive_failures' } },
      { event: 'endpoint.enabled', data: { activation: 2 } },
    ]);
    const minutes = events.flatMap(({ data }) => data.minute ?? []);
    expect(new Set(minutes).size).toBe(minutes.length);
    await eventually(() => {
      expect(sink.received.map(({ headers }) => headers['x-service-event-id']).sort()).toEqual(
        events.map(({ id }) => id).sort(),
      );
      return Promise.resolve();
    });
    const text = await operations.feedText('since=0');
    for (const { body } of sink.received) expect(text).toContain(body.toString());
    expect((await customer.feed()).map(({ event }) => event)).toEqual(['ticket.created', 'ticket.created']);
  });

  it('are not raised about failures of the operations organization, which could never end', async () => {
    const own = await receiving(500);
    const webhook = await operations.createWebhook({ url: own.url, events: OPERATIONAL });
    await operations.request('POST', `/external/webhooks/${webhook.id}/test`);
    await eventually(async () => {
      expect(await failuresOf(operations, webhook)).toBe(2);
    });
    await endMinutes();
    await eventually(async () => {
      const samples = await scrape(alerting.url);
      const skipped = samples.find(({ name }) => name === 'gapless_operational_events_skipped_total');
      expect(skipped?.value).toBe(2);
    });
    await operations.request('PATCH', `/external/webhooks/${webhook.id}`, JSON.stringify({ is_active: false }));
    await eventually(async () => {
      expect(await operationalFeed(webhook.id)).toMatchObject([
        { event: 'endpoint.disabled', data: { activation: 1, reason: 'operator' } },
      ]);
    });
  });

  it.each(OPERATIONAL)('%s cannot be submitted', async (event) => {
    const service = await anApi(null);
    const body = { events: [{ event, org_id: operationsOrg, data: {} }] };
    const answer = await service.request('POST', '/internal/events', JSON.stringify(body));
    expect(answer.status).toBe(422);
    expect(JSON.parse(answer.text)).toMatchObject({
      code: 'unknown_event_type',
      errors: [{ pointer: '#/events/0/event', detail: `"${event}" cannot be submitted: only Gapless raises it` }],
    });
  });
});

describe('the example of an event type (contract 4.5)', () => {
  it('is pushed to one endpoint alone, with an id that marks it, and pulled with the same bytes', async () => {
    const api = await anApi(anOrgId());
    const [chosen, other] = [await receiving(200), await receiving(200)];
    const webhook = await api.createWebhook({ url: chosen.url, events: ['ticket.created'] });
    await api.createWebhook({ url: other.url, events: ['lead.created'] });
    const send = (event: string) =>
      api.request('POST', `/external/webhooks/${webhook.id}/send-example`, JSON.stringify({ event }));
    const answer = await send('lead.created');
    expect(answer.status).toBe(202);
    const { data } = JSON.parse(answer.text) as { data: { event: string; event_id: string } };
    expect(data).toMatchObject({ event: 'lead.created', status: 'pending', attempts: 0 });
    expect(data.event_id).toMatch(/^evt_EXAMPLE[0-9A-Z]{26}$/);
    await eventually(() => {
      expect(chosen.received.map(({ headers }) => headers['x-service-event'])).toEqual(['lead.created']);
      return Promise.resolve();
    });
    await eventually(async () => {
      expect(await api.feedText('since=0')).toContain(chosen.received[0]?.body.toString());
    });
    // The real event shows that the other endpoint would have got the example by now.
    await api.emit([
      { event: 'lead.created', data: { id: 'l1', email: null, source: 'manual', created_at: '2026-06-01T12:00:00Z' } },
    ]);
    await eventually(() => {
      expect(other.received.map(({ headers }) => headers['x-service-sequence'])).toEqual(['2']);
      return Promise.resolve();
    });
    for (const event of ['test', 'lead.captured', 'endpoint.failing', 'nothing']) {
      const refusal = await send(event);
      expect([event, refusal.status]).toEqual([event, 422]);
      expect(JSON.parse(refusal.text)).toMatchObject({ errors: [{ pointer: '#/event', code: 'unknown_event_type' }] });
    }
  });
});
