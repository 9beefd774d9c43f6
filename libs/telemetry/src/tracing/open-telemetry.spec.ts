import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import { OpenTelemetry } from './open-telemetry.js';
import { startTracing } from './start-tracing.js';
import { childTraceParent } from './trace-parent.js';
import { NO_TRACING, type FinishedSpan } from './tracing.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;

function aSpan(change: Partial<FinishedSpan> = {}): FinishedSpan {
  return {
    name: 'push',
    kind: 'client',
    traceparent: childTraceParent(PARENT, { trace: 'evt_1', span: 'push/1', beginsSampled: true }),
    parent: PARENT,
    startedAtMs: 1_750_000_000_123,
    endedAtMs: 1_750_000_000_165.5,
    attributes: { 'gapless.attempt': 1 },
    error: null,
    ...change,
  };
}

describe('OpenTelemetry', () => {
  it('makes of finished work a span with the ids that it was given', async () => {
    const exporter = new InMemorySpanExporter();
    const tracing = new OpenTelemetry(exporter, 'gapless-test');
    const span = aSpan({ error: 'timeout' });
    tracing.record(span);
    // The exporter forgets what it has when it is shut down.
    const kept = exporter.getFinishedSpans.bind(exporter);
    exporter.shutdown = () => Promise.resolve();
    await tracing.close();
    const [made] = kept();
    const { traceId, spanId } = made!.spanContext();
    expect(`00-${traceId}-${spanId}-01`).toBe(span.traceparent);
    expect(made!.parentSpanContext).toMatchObject({ traceId: TRACE, spanId: 'b7ad6b7169203331' });
    expect(made!.startTime).toEqual([1_750_000_000, 123_000_000]);
    expect(made!.duration).toEqual([0, 42_500_000]);
    expect(made!.attributes).toEqual({ 'gapless.attempt': 1, 'error.type': 'timeout' });
    expect(made!.resource.attributes).toMatchObject({ 'service.name': 'gapless-test' });
  });

  it('makes none of a trace that is not sampled', async () => {
    const exporter = new InMemorySpanExporter();
    const tracing = new OpenTelemetry(exporter, 'gapless-test');
    tracing.record(aSpan({ traceparent: `00-${TRACE}-b7ad6b7169203332-00` }));
    tracing.record(aSpan({ traceparent: 'nonsense' }));
    exporter.shutdown = () => Promise.resolve();
    await tracing.close();
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});

describe('startTracing', () => {
  let collector: Server;
  let asked: { readonly url: string | undefined; readonly headers: IncomingHttpHeaders; readonly body: Buffer }[];
  let status: number;

  beforeEach(async () => {
    asked = [];
    status = 200;
    collector = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        asked.push({ url: request.url, headers: request.headers, body: Buffer.concat(chunks) });
        response.writeHead(status).end();
      });
    });
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  });

  afterEach(async () => {
    await new Promise((resolve) => {
      collector.close(resolve);
      collector.closeAllConnections();
    });
  });

  function endpoint(): string {
    return `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  }

  it('sends spans to the collector, in OTLP over HTTP, at the latest when it is closed', async () => {
    const tracing = await startTracing({ endpoint: `${endpoint()}/`, serviceName: 'gapless-test', onFailure: fail });
    expect(tracing.isOn).toBe(true);
    tracing.record(aSpan());
    await tracing.close();
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ url: '/v1/traces', headers: { 'content-type': 'application/x-protobuf' } });
    expect(asked[0]!.body.includes(Buffer.from(TRACE, 'hex'))).toBe(true);
    expect(asked[0]!.body.includes('gapless-test')).toBe(true);
  });

  it('reports when the collector refuses them, and goes on', async () => {
    status = 400;
    const failures: string[] = [];
    const onFailure = (message: string) => failures.push(message);
    const tracing = await startTracing({ endpoint: endpoint(), serviceName: 'gapless-test', onFailure });
    tracing.record(aSpan());
    await tracing.close();
    expect(failures.length).toBeGreaterThan(0);
  });

  it('is nothing at all without a collector', async () => {
    const tracing = await startTracing({ endpoint: null, serviceName: 'gapless-test', onFailure: fail });
    expect(tracing).toBe(NO_TRACING);
    expect(tracing.isOn).toBe(false);
  });

  function fail(message: string): void {
    throw new Error(message);
  }
});
