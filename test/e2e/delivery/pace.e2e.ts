import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DispatcherModule } from '../../../apps/dispatcher/src/dispatcher.module.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { DeliverySuite } from './support/delivery-suite.js';
import { attemptsAt, nothingMoreComes } from './support/pushes.js';

let suite: DeliverySuite;

beforeAll(async () => {
  // An owner of a partition waits for as long as an attempt of an earlier one may take, after each assignment.
  suite = await DeliverySuite.start({ RETRY_SCHEDULE: '1s,2s', DELIVERY_TIMEOUT: '10s' });
  await suite.gapless.start([DispatcherModule], { name: 'second' });
});

afterAll(() => suite.stop());

const eventsOf = (count: number) => Array.from({ length: count }, () => ({ event: 'ticket.created', data: {} }));

/** Returns the largest number of times within a second, which two clocks measure a little differently. */
function mostWithinASecond(timesMs: readonly number[]): number {
  return Math.max(...timesMs.map((atMs) => timesMs.filter((time) => time >= atMs && time < atMs + 990).length));
}

describe('the pace of an endpoint', () => {
  it.concurrent(
    'is never above max_per_second, with retries, two dispatchers and one that joins; what waits is pending',
    async () => {
      const operator = await suite.anOperator();
      let pushes = 0;
      const held: (() => void)[] = [];
      const receiver = await suite.aReceiver((_request, response) => {
        const status = pushes++ % 5 === 0 ? 503 : 200;
        held.push(() => response.writeHead(status).end());
      });
      const { url, received } = receiver;
      const { id } = await operator.register({ url, events: ['ticket.created'], max_per_second: 15 });
      await operator.emit(...eventsOf(60));
      await eventually(async () => {
        expect(received.length).toBeGreaterThan(5);
        expect((await operator.endpoint(id)).health.pending).toBe(60);
      });
      receiver.answer = (_request, response) => response.writeHead(pushes++ % 5 === 0 ? 503 : 200).end();
      for (const answer of held) answer();
      const joining = await suite.gapless.start([DispatcherModule], { name: 'third' });
      const deliveries = await eventually(async () => {
        const found = await operator.deliveries(id);
        expect(found.filter(({ status }) => status === 'delivered')).toHaveLength(60);
        return found;
      });
      await joining.stop();
      const attempts = deliveries.reduce((sum, delivery) => sum + delivery.attempts, 0);
      expect(attempts).toBeGreaterThan(60);
      expect(attemptsAt(receiver)).toHaveLength(attempts);
      // When they arrive is not known exactly: the receiver, too, may stand still for a moment.
      const times = await operator.attemptTimes(id);
      expect(times).toHaveLength(attempts);
      expect(mostWithinASecond(times)).toBeLessThanOrEqual(15);
    },
  );

  it.concurrent('is never above max_in_flight', async () => {
    let [open, most] = [0, 0];
    const to = await suite.aSubscriber({ max_in_flight: 3 }, (_request, response) => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open--;
        response.end();
      }, 50);
    });
    await to.operator.emit(...eventsOf(30));
    await eventually(async () => {
      expect((await to.operator.deliveries(to.endpoint.id)).map(({ status }) => status)).toEqual(
        Array.from({ length: 30 }, () => 'delivered'),
      );
    });
    expect(attemptsAt(to.receiver)).toHaveLength(30);
    expect(most).toBe(3);
  });

  it.concurrent('is as before once its limits are removed', async () => {
    const to = await suite.aSubscriber({ max_per_second: 1 });
    // Of each event once: a dispatcher that joins or leaves beside this may make others repeat attempts.
    const pushed = () => new Set(to.receiver.received.map(({ headers }) => headers['webhook-id']));
    // With the limit, they would take longer than the test waits.
    await to.operator.emit(...eventsOf(200));
    await eventually(() => {
      expect(pushed().size).toBeGreaterThan(1);
    });
    expect(await to.operator.change(to.endpoint.id, { max_per_second: null })).toMatchObject({ max_per_second: null });
    await eventually(() => {
      expect(pushed().size).toBe(200);
    });
    await to.operator.emit(...eventsOf(1));
    await eventually(() => {
      expect(pushed().size).toBe(201);
    });
  });

  it.concurrent('holds for what is replayed as soon as the endpoint is enabled', async () => {
    const { operator, endpoint, receiver } = await suite.aSubscriber({ max_per_second: 2 });
    const ids = await operator.emit(...eventsOf(100));
    await eventually(async () => {
      // Until a dispatcher has taken over its partition, it gets nothing.
      expect(receiver.received.length).toBeGreaterThan(0);
      expect(await operator.deliveries(endpoint.id)).toHaveLength(100);
      // A replay needs the feed, which is projected beside the delivery log.
      expect((await operator.api.request('GET', `/external/events/${ids.at(-1)!}`)).status).toBe(200);
    });
    // A dispatcher that does not know the limit any more learns of it again at some moment within a second.
    let replayed: readonly string[] = [];
    for (let round = 0; round < 4; round++) {
      await operator.change(endpoint.id, { is_active: false });
      replayed = await eventually(async () => {
        const found = await operator.deliveries(endpoint.id);
        expect(found.filter(({ status }) => status === 'pending')).toEqual([]);
        const failed = found.filter(({ status }) => status === 'failed');
        return failed.slice(-10).map(({ id }) => id);
      });
      await nothingMoreComes(receiver, 1_500);
      await operator.change(endpoint.id, { is_active: true });
      await Promise.all(replayed.map((id) => operator.replay(endpoint.id, id)));
    }
    expect(replayed).toHaveLength(10);
    await eventually(async () => {
      const found = (await operator.deliveries(endpoint.id)).filter(({ id }) => replayed.includes(id));
      expect(found.filter(({ status }) => status !== 'delivered')).toEqual([]);
    });
    expect(mostWithinASecond(await operator.attemptTimes(endpoint.id))).toBeLessThanOrEqual(2);
  });

  it.concurrent('holds for replays and tests as well', async () => {
    const to = await suite.aSubscriber({ max_per_second: 5, max_in_flight: 1 });
    await to.operator.test(to.endpoint.id);
    const [first] = await eventually(async () => {
      const found = await to.operator.deliveries(to.endpoint.id);
      expect(found).toMatchObject([{ status: 'delivered' }]);
      // A replay needs the feed, which is projected beside the delivery log.
      expect((await to.operator.delivery(to.endpoint.id, found[0]!.id)).envelope).not.toBeNull();
      return found;
    });
    const before = to.receiver.received.length;
    await to.operator.replay(to.endpoint.id, first!.id);
    await eventually(() => {
      expect(to.receiver.received.length).toBeGreaterThan(before);
    });
  });
});
