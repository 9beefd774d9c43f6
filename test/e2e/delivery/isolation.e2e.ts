import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/infrastructure/eventually.js';
import type { Receiver } from '../../support/receiver.js';
import { oneTo } from '../../support/sequence.js';
import { DeliverySuite } from './support/delivery-suite.js';
import type { EndpointWithSecret, Operator } from './support/operator.js';
import { deliveryIdOf, envelopeOf } from './support/pushes.js';

/** Together more than the dispatcher holds at a time. */
const BACKLOGS = 5;
const BACKLOG = 480;
/** More than there are partitions, so that some share one with the endpoint that hangs. */
const HEALTHY_ENDPOINTS = 6;
const WAVE = 30;
/** How long each attempt hangs, and everything that waits for it. */
const HANG_MS = 40_000;
/** Far above what a push takes on an idle machine … */
const HALF_WITHIN_MS = 20_000;
/** … and on a busy one; below the time that an attempt hangs. */
const ALL_WITHIN_MS = 30_000;

describe('an endpoint that hangs with thousands of events', () => {
  let suite: DeliverySuite;
  let operator: Operator;
  let hanging: Receiver;
  let hangingEndpoint: EndpointWithSecret;
  let healthy: readonly Receiver[];
  const unanswered: (() => void)[] = [];
  let isHanging = true;

  beforeAll(async () => {
    suite = await DeliverySuite.start({
      DELIVERY_TIMEOUT: `${HANG_MS}ms`,
      // So many that no delivery fails for good while the test lasts.
      RETRY_SCHEDULE: oneTo(8)
        .map(() => '200ms')
        .join(),
      AUTO_DISABLE_AFTER: '100000',
    });
    operator = await suite.anOperator();
    hanging = await suite.aReceiver((_request, response) => {
      if (isHanging) unanswered.push(() => response.end());
      else response.end();
    });
    hangingEndpoint = await operator.register({ url: hanging.url, events: ['ticket.updated'] });
    healthy = await Promise.all(oneTo(HEALTHY_ENDPOINTS).map(() => suite.aReceiver()));
    for (const { url } of healthy) await operator.register({ url, events: ['ticket.created'] });
  });

  afterAll(() => suite.stop());

  /** Emits a wave to the healthy endpoints. @returns how long after that each push came, in milliseconds */
  async function wave(): Promise<readonly number[]> {
    const at = healthy.map(({ received }) => received.length);
    const emittedAtMs = Date.now();
    await operator.emit(...oneTo(WAVE).map((n) => ({ event: 'ticket.created', data: { n } })));
    return eventually(() => {
      const pushes = healthy.flatMap(({ received }, index) => received.slice(at[index]));
      expect(pushes).toHaveLength(HEALTHY_ENDPOINTS * WAVE);
      return pushes.map(({ atMs }) => atMs - emittedAtMs);
    });
  }

  it('delays no other endpoint of the org: not when it begins to hang, nor while it does', async () => {
    // Connections are made, code is compiled: what a process does once is not what this is about.
    await wave();
    const delays: number[] = [];
    for (let n = 0; n < BACKLOGS; n++) {
      await operator.emit(...oneTo(BACKLOG).map((n) => ({ event: 'ticket.updated', data: { n } })));
      delays.push(...(await wave()));
    }
    await eventually(async () => {
      const { health } = await operator.endpoint(hangingEndpoint.id);
      expect(health).toMatchObject({ pending: BACKLOGS * BACKLOG, delivered_24h: 0 });
    });
    delays.push(...(await wave()));
    expect(unanswered.length).toBeGreaterThan(0);
    delays.sort((a, b) => a - b);
    expect(delays[delays.length / 2]).toBeLessThan(HALF_WITHIN_MS);
    expect(delays.at(-1)).toBeLessThan(ALL_WITHIN_MS);
  });

  it('gets all of them once it answers again', async () => {
    isHanging = false;
    for (const answer of unanswered) answer();
    await eventually(async () => {
      const { health } = await operator.endpoint(hangingEndpoint.id);
      expect(health).toMatchObject({ pending: 0, delivered_24h: BACKLOGS * BACKLOG });
    });
    expect(new Set(hanging.received.map(deliveryIdOf)).size).toBe(BACKLOGS * BACKLOG);
    expect(new Set(hanging.received.map((push) => envelopeOf(push).event))).toEqual(new Set(['ticket.updated']));
  });
});
