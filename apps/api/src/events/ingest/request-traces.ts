import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GaplessError, type Clock } from '#libs/domain';
import { CLOCK, TRACING } from '#libs/platform';
import { childTraceParent, parseTraceParent, type Tracing } from '#libs/telemetry';
import '../../http/access-log.js';
import { callersTraceParent, traceParentOf } from './trace-parent.js';

/** Gives requests that create events their place in a trace. */
@Injectable()
export class RequestTraces {
  constructor(
    @Inject(TRACING) private readonly tracing: Tracing,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @param act gets the traceparent for the events that it creates */
  async trace<T>(name: string, request: FastifyRequest, act: (traceparent: string) => Promise<T>): Promise<T> {
    const header = request.headers['traceparent'];
    if (!this.tracing.isOn) {
      const given = traceParentOf(header);
      request.traceId = parseTraceParent(given)?.traceId ?? null;
      return act(given);
    }
    const parent = callersTraceParent(header) ?? null;
    const seed = randomBytes(16).toString('hex');
    const traceparent = childTraceParent(parent, { trace: seed, span: seed, beginsSampled: true });
    request.traceId = parseTraceParent(traceparent)?.traceId ?? null;
    const startedAtMs = this.clock.now();
    let error: string | null = null;
    try {
      return await act(traceparent);
    } catch (failure) {
      error = failure instanceof GaplessError ? failure.code : 'internal';
      throw failure;
    } finally {
      this.tracing.record({
        name,
        kind: 'server',
        traceparent,
        parent,
        startedAtMs,
        endedAtMs: this.clock.now(),
        attributes: { 'http.request.method': request.method, 'http.route': request.routeOptions.url ?? '' },
        error,
      });
    }
  }
}
