import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { METRICS, type MetricDefinition } from '#libs/telemetry';
import { STAGE_NAMES, type StageName } from '#libs/runtime';
import { OpenTelemetry } from '../../libs/telemetry/src/tracing/open-telemetry.js';
import { ApiClient, type Webhook } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { freePort } from '../support/free-port.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { scrape, valueOf, type Sample } from '../support/scrape.js';
import { oneTo } from '../support/sequence.js';
import { aStageProcess, type LogLine, type StageProcess } from '../support/stage-process.js';
import { ALL_STAGES, API_HTTP } from '../support/stages.js';
import { aStore } from '../support/store.js';

type MetricName = keyof typeof METRICS;

const EVERY_PROCESS: readonly MetricName[] = ['gapless_build_info', 'gapless_ready'];
/** Every process shows them as well, whatever the value: connections that nothing uses are closed. */
const SHOWN_BY_ALL: readonly MetricName[] = [
  'gapless_postgres_connections',
  'gapless_topics_at_risk',
  'gapless_topics_misfit',
];
const PRODUCES: readonly MetricName[] = ['gapless_produced_records_total', 'gapless_produce_duration_seconds'];
const CONSUMES: readonly MetricName[] = ['gapless_batch_records', 'gapless_batch_duration_seconds'];

/** The metrics of each process that are not zero after the load below. */
const TOLD: Readonly<Record<StageName, readonly MetricName[]>> = {
  api: [...PRODUCES, 'gapless_http_requests_total', 'gapless_http_request_duration_seconds'],
  sequencer: [...PRODUCES, ...CONSUMES, 'gapless_sequencer_repeats_total'],
  dispatcher: [
    ...PRODUCES,
    ...CONSUMES,
    'gapless_consumer_lag_records',
    'gapless_consumer_lag_seconds',
    'gapless_deliveries_scheduled_total',
    'gapless_attempts_total',
    'gapless_push_duration_seconds',
    'gapless_first_push_delay_seconds',
    'gapless_attempts_in_flight',
    'gapless_attempts_held',
    'gapless_sluggish_endpoints',
    'gapless_attempts_diverted_total',
    'gapless_retry_lateness_seconds',
  ],
  projector: [
    ...CONSUMES,
    'gapless_sequence_checked_total',
    'gapless_projection_transaction_seconds',
    'gapless_projection_age_seconds',
    'gapless_endpoints',
  ],
  alerting: [...CONSUMES, 'gapless_projection_transaction_seconds', 'gapless_projection_age_seconds'],
};

/** Printed as well, and zero as long as all is well. */
const ZERO: Readonly<Record<StageName, readonly MetricName[]>> = {
  api: ['gapless_postgres_queries_waiting', 'gapless_produce_failures_total'],
  sequencer: [
    'gapless_batch_failures_total',
    'gapless_partitions_failing',
    'gapless_sequencer_checkpoint_failures_total',
    'gapless_consumer_lag_records',
    'gapless_consumer_lag_seconds',
  ],
  dispatcher: [
    'gapless_batch_failures_total',
    'gapless_partitions_failing',
    'gapless_attempts_reconciled_total',
    'gapless_egress_proxy_away',
  ],
  projector: [
    'gapless_batch_failures_total',
    'gapless_partitions_failing',
    'gapless_consumer_lag_records',
    'gapless_consumer_lag_seconds',
    'gapless_produced_records_total',
    'gapless_sequence_gaps_total',
    'gapless_sequence_repeats_total',
    'gapless_sequence_mismatches_total',
  ],
  alerting: [
    'gapless_batch_failures_total',
    'gapless_partitions_failing',
    'gapless_consumer_lag_records',
    'gapless_consumer_lag_seconds',
    'gapless_alerts_raised_total',
    'gapless_alert_mails_total',
    'gapless_operational_events_total',
    'gapless_operational_events_skipped_total',
  ],
};

const GUARDED: readonly MetricName[] = [
  'gapless_partitions_stopped',
  'gapless_records_removed_unread_total',
  'gapless_open_transaction_seconds',
];

/** Shown as well, whatever the value. */
const SHOWN: Readonly<Record<StageName, readonly MetricName[]>> = {
  api: ['gapless_ingest_lag_seconds'],
  sequencer: [...GUARDED, 'gapless_sequencer_old_stamps_total'],
  dispatcher: [
    ...GUARDED,
    'gapless_router_skipped_total',
    'gapless_router_previous_unknown_total',
    'gapless_filter_results_total',
    'gapless_reconciler_endpoints_waiting',
    'gapless_reconciler_failures_total',
    'gapless_reconciler_last_look_timestamp_seconds',
  ],
  projector: [
    ...GUARDED,
    'gapless_backlog_endpoints',
    'gapless_backlog_rows_total',
    'gapless_pruned_timestamp_seconds',
  ],
  alerting: [...GUARDED, 'gapless_alerting_events_skipped_total', 'gapless_alerting_swept_timestamp_seconds'],
};

/** Shown if there are several databases or replicas: `feed-databases.e2e.ts`, `read-replicas.e2e.ts`. */
const OF_FEED_DATABASES: readonly MetricName[] = [
  'gapless_feed_server_up',
  'gapless_replica_up',
  'gapless_replica_lag_seconds',
  'gapless_replica_reads_total',
];

/** More than one endpoint may hold of the main lane. */
const HANGING_PUSHES = 300;
/** Is in every body, and must be in no log. */
const MARK = 'b0dy-of-an-event';
const ENCRYPTION_KEY = Buffer.alloc(32, 'k3y').toString('base64');
const AUTO_DISABLE_AFTER = 4;

describe('processes, one of each stage, that carry a load with troubles in it', () => {
  let gapless: GaplessUnderTest;
  let stages: Readonly<Record<StageName, StageProcess>>;
  let orgId: OrgId;
  let apiKey: string;
  let api: ApiClient;
  const receivers: Receiver[] = [];
  const webhooks: Webhook[] = [];
  let good: Receiver;

  async function aSubscriber(answer: Receiver['answer'], event: string): Promise<Receiver> {
    const receiver = await aReceiver(answer);
    receivers.push(receiver);
    webhooks.push(await api.createWebhook({ url: receiver.url, events: [event] }));
    return receiver;
  }

  function samplesOf(stage: StageName): Promise<readonly Sample[]> {
    return scrape(stages[stage].url);
  }

  function linesOf(stage: StageName, msg: string): readonly LogLine[] {
    return stages[stage].log.filter((line) => line['msg'] === msg);
  }

  beforeAll(async () => {
    gapless = await aGapless({
      RETRY_SCHEDULE: '500ms,1h',
      AUTO_DISABLE_AFTER: String(AUTO_DISABLE_AFTER),
      // Pushes that hang are in flight until the suite ends.
      DELIVERY_TIMEOUT: '60s',
      SECRET_ENCRYPTION_KEYS: `test:${ENCRYPTION_KEY}`,
      // No alert is raised, so nothing is sent there.
      SMTP_URL: 'smtp://127.0.0.1:9',
    });
    orgId = anOrgId();
    const store = aStore(gapless.environment['DATABASE_URL']!);
    await store.open(() => undefined);
    apiKey = await anApiKey(store, orgId);
    await store.close();
    const started = await Promise.all(
      STAGE_NAMES.map(
        async (stage) => [stage, await aStageProcess(stage, gapless.environment, { logLevel: 'trace' })] as const,
      ),
    );
    stages = Object.fromEntries(started) as Record<StageName, StageProcess>;
    await Promise.all(started.map(([, stage]) => stage.ready()));
    api = new ApiClient(stages.api.url, apiKey);

    good = await aSubscriber((_request, response) => response.end(MARK), 'ticket.created');
    await aSubscriber((_request, response) => response.writeHead(500).end(MARK), 'ticket.created');
    const hanging = await aSubscriber(() => undefined, 'ticket.updated');
    webhooks.push(
      await api.createWebhook({ url: `http://127.0.0.1:${await freePort()}/`, events: ['ticket.created'] }),
    );
    const again = { id: anEventId(), event: 'ticket.created', data: { text: MARK } };
    await Promise.all([api.emit([again]), api.emit([again]), api.emit([again])]);
    await api.emit(oneTo(2).map(() => ({ event: 'ticket.created', data: { text: MARK } })));
    await api.emit(oneTo(HANGING_PUSHES).map(() => ({ event: 'ticket.updated', data: { text: MARK } })));
    await api.request('GET', '/external/events?since=-1');
    await fetch(`${stages.api.url}/nowhere?secret=${MARK}`, { method: 'POST' });
    await eventually(
      async () => {
        expect(good.received).toHaveLength(3);
        expect(hanging.received.length).toBeGreaterThan(64);
        expect((await api.feed()).length).toBe(3 + HANGING_PUSHES);
        expect((await api.webhook(webhooks[1]!.id)).is_active).toBe(false);
      },
      { intervalMs: 200 },
    );
  });

  afterAll(async () => {
    // Receivers first: nobody has to wait for the one that hangs.
    await Promise.all(receivers.map((receiver) => receiver.close()));
    await Promise.all(STAGE_NAMES.map((stage) => stages[stage].stop()));
    await gapless.stop();
  });

  it('together print every documented metric', () => {
    const told = STAGE_NAMES.flatMap((stage) => [...TOLD[stage], ...ZERO[stage], ...SHOWN[stage]]);
    expect(new Set([...EVERY_PROCESS, ...SHOWN_BY_ALL, ...OF_FEED_DATABASES, ...told])).toEqual(
      new Set(Object.keys(METRICS)),
    );
  });

  it.each(STAGE_NAMES)('print Prometheus what they do: %s', async (stage) => {
    await eventually(
      async () => {
        const samples = await samplesOf(stage);
        const values = (names: readonly MetricName[]) => names.map((name) => [name, valueOf(samples, name)] as const);
        for (const [name, value] of values([...EVERY_PROCESS, ...TOLD[stage]])) {
          expect({ name, value, isTold: (value ?? 0) > 0 }).toMatchObject({ name, isTold: true });
        }
        for (const [name, value] of values(ZERO[stage])) expect({ name, value }).toEqual({ name, value: 0 });
        for (const [name, value] of values([...SHOWN_BY_ALL, ...SHOWN[stage]])) {
          expect({ name, value }).toEqual({ name, value: expect.any(Number) as unknown });
        }
      },
      { intervalMs: 300 },
    );
  });

  it('print nothing that the catalog does not have, but of the Node process', async () => {
    const definitions: Readonly<Record<string, MetricDefinition>> = METRICS;
    for (const stage of STAGE_NAMES) {
      for (const { name, labels } of await samplesOf(stage)) {
        if (/^(process|nodejs)_/.test(name)) continue;
        const definition = definitions[name] ?? definitions[name.replace(/_(bucket|sum|count)$/, '')];
        expect({ name, isKnown: definition !== undefined }).toEqual({ name, isKnown: true });
        expect(
          Object.keys(labels)
            .filter((label) => label !== 'le')
            .sort(),
        ).toEqual([...definition!.labels].sort());
      }
    }
  });

  it('print figures that are those of the load', async () => {
    // What was last done may be counted a moment later.
    await eventually(async () => {
      const dispatcher = await samplesOf('dispatcher');
      const attempts = (labels: Record<string, string>) => valueOf(dispatcher, 'gapless_attempts_total', labels);
      expect(attempts({ outcome: 'delivered', error: 'none' })).toBe(3);
      expect(attempts({ error: 'http_status' })).toBeGreaterThanOrEqual(AUTO_DISABLE_AFTER);
      expect(attempts({ error: 'connect' })).toBeGreaterThanOrEqual(AUTO_DISABLE_AFTER);
      expect(valueOf(dispatcher, 'gapless_consumer_lag_records', { topic: 'retry-1h' })).toBeGreaterThan(0);
      expect(valueOf(dispatcher, 'gapless_attempts_diverted_total')).toBeGreaterThanOrEqual(HANGING_PUSHES - 256);
      expect(valueOf(await samplesOf('projector'), 'gapless_endpoints')).toBe(webhooks.length);
      const sequencer = await samplesOf('sequencer');
      expect(valueOf(sequencer, 'gapless_produced_records_total', { topic: 'log' })).toBe(3 + HANGING_PUSHES);
      // A series that begins with its first dead letters would look to Prometheus as if there had been none.
      for (const stage of ['sequencer', 'dispatcher', 'projector'] as const) {
        expect(valueOf(await samplesOf(stage), 'gapless_produced_records_total', { topic: 'dead-letter' })).toBe(0);
      }
      const requests = await samplesOf('api');
      const route = '/api/v1/internal/events';
      expect(valueOf(requests, 'gapless_http_requests_total', { method: 'POST', route, status: '202' })).toBe(5);
      expect(valueOf(requests, 'gapless_http_requests_total', { route: 'unmatched', status: '404' })).toBe(1);
    });
  });

  it('log one line for each attempt and each request, with the ids that lead from one to the other', async () => {
    await eventually(() => {
      for (const { headers } of good.received) {
        const lines = linesOf('dispatcher', 'delivery.attempted').filter(
          (line) => line['delivery_id'] === headers['x-service-delivery-id'],
        );
        expect(lines).toHaveLength(1);
        expect(lines[0]).toMatchObject({
          level: 'info',
          org_id: orgId,
          event_id: headers['x-service-event-id'],
          trace_id: String(headers['traceparent']).split('-')[1],
          attempt: 1,
          outcome: 'delivered',
          duration_ms: expect.any(Number),
        });
      }
    });
    const answer = await api.request('POST', '/internal/events', `{"events":[{"event":"ticket.reply","data":{}}]}`);
    await eventually(() => {
      const requestId = answer.headers.get('x-request-id');
      const lines = linesOf('api', 'http.request').filter((line) => line['request_id'] === requestId);
      expect(lines).toEqual([
        expect.objectContaining({ status: 202, org_id: orgId, trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) }),
      ]);
    });
  });

  it('log no key, no secret, no signature and no body, at any level', () => {
    const text = STAGE_NAMES.map((stage) => stages[stage].log.map((line) => JSON.stringify(line)).join('\n')).join(
      '\n',
    );
    expect(text).toContain('"level":"debug"');
    const pushed = receivers.flatMap(({ received }) => received);
    const signatures = pushed.flatMap(({ headers }) => [
      /v1=(\w+)/.exec(String(headers['x-service-signature']))![1]!,
      String(headers['x-webhook-signature']),
      String(headers['webhook-signature']).slice('v1,'.length),
    ]);
    expect(signatures.length).toBeGreaterThan(100);
    const untold = [
      MARK,
      Buffer.from(MARK).toString('base64').slice(0, 16),
      Buffer.from(MARK).toJSON().data.join(','),
      ENCRYPTION_KEY,
      apiKey.split('_').slice(2).join('_'),
      new URL(gapless.environment['DATABASE_URL']!).password,
      ...webhooks.map(({ secret }) => secret.slice('whsec_'.length)),
      ...signatures,
    ].filter((secret) => secret !== '');
    expect(untold.filter((secret) => text.includes(secret))).toEqual([]);
  });

  it('say that they are not ready as soon as they get SIGTERM, and finish what is under way', async () => {
    const { dispatcher } = stages;
    dispatcher.signal('SIGTERM');
    await eventually(async () => {
      const response = await fetch(`${dispatcher.url}/health/ready`);
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({
        status: 'waiting',
        parts: { process: { status: 'waiting', reason: 'stopping' } },
      });
    });
    expect((await fetch(`${dispatcher.url}/health/live`)).status).toBe(200);
    for (const receiver of receivers) await receiver.close();
    expect(await dispatcher.ended).toBe(0);
  });
});

describe('a trace', () => {
  const exporter = new InMemorySpanExporter();
  const TRACE = '0af7651916cd43dd8448eb211c80319c';
  let gapless: GaplessUnderTest;
  let receiver: Receiver;

  beforeAll(async () => {
    gapless = await aGapless({ RETRY_SCHEDULE: '100ms,100ms' });
    const tracing = new OpenTelemetry(exporter, 'gapless-test');
    const app = await gapless.start(ALL_STAGES, { http: API_HTTP, tracing });
    const key = await anApiKey(app.app.get(Store), anOrgId());
    receiver = await aReceiver((_request, response, { headers }) =>
      response.writeHead(headers['x-service-attempt'] === '1' ? 503 : 200).end(),
    );
    await new ApiClient(app.url, key).createWebhook({ url: receiver.url, events: ['ticket.created'] });
    const submit = async (headers: Readonly<Record<string, string>>) => {
      const body = '{"events":[{"event":"ticket.created","data":{}}]}';
      const type = { 'content-type': 'application/json' };
      const url = `${app.url}/api/v1/internal/events`;
      const response = await fetch(url, { method: 'POST', headers: { 'x-api-key': key, ...type, ...headers }, body });
      expect(response.status).toBe(202);
    };
    await submit({ traceparent: `00-${TRACE}-b7ad6b7169203331-01` });
    await submit({});
    await submit({ traceparent: `00-${TRACE.replace(/^0af/, 'bad')}-b7ad6b7169203331-00` });
    await eventually(() => {
      expect(receiver.received).toHaveLength(6);
    });
    // What it was given so far is to be seen after it was closed.
    exporter.shutdown = () => Promise.resolve();
    await app.stop();
  });

  afterAll(async () => {
    await receiver.close();
    await gapless.stop();
  });

  function spansOf(traceId: string): readonly ReadableSpan[] {
    return exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
  }

  function named(spans: readonly ReadableSpan[], name: string): readonly ReadableSpan[] {
    return spans.filter((span) => span.name === name);
  }

  const parentOf = (span: ReadableSpan | undefined) => span?.parentSpanContext?.spanId;
  const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId;

  function expectChain(spans: readonly ReadableSpan[], beginning: string | undefined): void {
    const [ingest] = named(spans, 'ingest');
    const [sequence] = named(spans, 'sequence');
    const [route] = named(spans, 'route');
    const pushes = named(spans, 'push');
    expect(spans).toHaveLength(5);
    expect(parentOf(ingest)).toBe(beginning);
    expect(parentOf(sequence)).toBe(idOf(ingest));
    expect(parentOf(route)).toBe(idOf(sequence));
    expect(pushes.map(parentOf)).toEqual([idOf(route), idOf(route)]);
    expect(pushes.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([503, 200]);
    const traceId = ingest!.spanContext().traceId;
    const given = receiver.received.map(({ headers }) => String(headers['traceparent']));
    expect(given.filter((header) => header.includes(traceId))).toEqual(
      pushes.map((push) => `00-${traceId}-${idOf(push)!}-01`),
    );
  }

  it("goes on from the caller's through every stage to the push and its retry, each from the one before", () => {
    expectChain(spansOf(TRACE), 'b7ad6b7169203331');
  });

  it('begins with the request of a caller that has none', () => {
    const [begun] = named(exporter.getFinishedSpans(), 'ingest').filter((span) => parentOf(span) === undefined);
    expectChain(spansOf(begun!.spanContext().traceId), undefined);
  });

  it('that is not sampled goes on to the consumer, and leaves no span', () => {
    const traceId = TRACE.replace(/^0af/, 'bad');
    expect(spansOf(traceId)).toEqual([]);
    const given = receiver.received.map(({ headers }) => String(headers['traceparent']));
    expect(given.filter((header) => header.startsWith(`00-${traceId}-`) && header.endsWith('-00'))).toHaveLength(2);
  });
});
