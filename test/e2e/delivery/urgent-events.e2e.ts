import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalogEntry } from '#libs/domain';
import { eventually } from '../../support/infrastructure/eventually.js';
import type { Receiver } from '../../support/receiver.js';
import { oneTo } from '../../support/sequence.js';
import { DeliverySuite, type Subscribed } from './support/delivery-suite.js';
import { envelopeOf } from './support/pushes.js';

let suite: DeliverySuite;

beforeAll(async () => {
  suite = await DeliverySuite.start({ DELIVERY_TIMEOUT: '30s' });
});

afterAll(() => suite.stop());

const ALERT = { event: 'conversation.queued', data: catalogEntry('conversation.queued').example };
const BREACH = { event: 'ticket.sla_breach', data: {} };

/** Answers after that time, which is not slow enough for a slow endpoint. */
function after(ms: number): Receiver['answer'] {
  return (_request, response) => setTimeout(() => response.end(), ms);
}

function tickets(count: number) {
  return Array.from({ length: count }, () => ({ event: 'ticket.created', data: {} }));
}

/** Returns how many other events have arrived before the first one of that type. */
async function arrivedBefore({ receiver }: Subscribed, event: string): Promise<number> {
  return eventually(() => {
    const place = receiver.received.findIndex((push) => envelopeOf(push).event === event);
    expect(place).toBeGreaterThanOrEqual(0);
    return place;
  });
}

async function arrived({ receiver }: Subscribed, count: number): Promise<void> {
  await eventually(() => {
    expect(receiver.received.length).toBeGreaterThanOrEqual(count);
  });
}

async function stop({ operator, endpoint }: Subscribed): Promise<void> {
  await operator.change(endpoint.id, { is_active: false });
}

describe('an urgent event', () => {
  it('passes 10,000 others that wait for its endpoint', async () => {
    const to = await suite.aSubscriber({ events: ['ticket.created', ALERT.event] }, after(200));
    await Promise.all(oneTo(20).map(() => to.operator.emit(...tickets(500))));
    await arrived(to, 200);
    const at = to.receiver.received.length;
    await to.operator.emit(ALERT);
    const before = await arrivedBefore(to, ALERT.event);
    await stop(to);
    // Of those that waited, it has passed more than half.
    expect(before - at).toBeLessThan((10_000 - at) / 2);
  });

  it('passes others that wait for a paced endpoint, which chooses its urgent types', async () => {
    const types = { events: ['ticket.created', BREACH.event], urgent: [BREACH.event] };
    const to = await suite.aSubscriber({ ...types, max_per_second: 10 });
    expect(to.endpoint).toMatchObject({ urgent: [BREACH.event] });
    await to.operator.emit(...tickets(300));
    await arrived(to, 5);
    await to.operator.emit(BREACH);
    const before = await arrivedBefore(to, BREACH.event);
    await stop(to);
    expect(before).toBeLessThan(150);
  });

  it('waits for its turn where the events are ordered', async () => {
    const types = { events: ['ticket.created', BREACH.event], urgent: [BREACH.event] };
    const to = await suite.aSubscriber({ ...types, ordering: { by: 'endpoint' } }, after(20));
    await to.operator.emit(...tickets(40), BREACH);
    expect(await arrivedBefore(to, BREACH.event)).toBe(40);
  });
});
