import { BurstWriters } from '../burst-writers.js';
import { CustomerEndpoint } from '../customer.js';
import type { Fault } from '../fault.js';

const EVENTS_EACH = 2_700;
const EVENTS_PER_REQUEST = 100;
/** So that the backlog lasts for some time, whatever the machine can do. */
const ANSWERS_AFTER_MS = 400;
/** Pushed by the first dispatcher before the second one comes. */
const PUSHED_FIRST = 800;
/** The second one is of no use to a backlog that is gone by then. */
const LEAST_LEFT = 2_000;

/** What waits in the first dispatcher of the partitions that it gives away must not be pushed by both. */
export const dispatcherJoin: Fault = {
  name: 'dispatcher-join',
  description: `a second dispatcher joins into a backlog of ${3 * EVENTS_EACH} deliveries`,
  limitMs: 270_000,
  plan: { quietOrgs: 3, settleMs: 120_000 },
  async strike(world) {
    const { traffic } = world;
    const [api] = world.stages.of('api');
    if (api === undefined) throw new Error('there is no api');
    const slow = traffic.quietOrgs.map(
      ({ orgId }, index) =>
        new CustomerEndpoint(
          `slow endpoint ${index}`,
          { orgId, events: ['ticket.created'], widgetIds: null },
          0,
          ANSWERS_AFTER_MS,
        ),
    );
    for (const endpoint of slow) await traffic.register(endpoint);
    const arrived = () => slow.reduce((sum, { arrivals }) => sum + arrivals.size, 0);
    const writers = traffic.quietOrgs.map(
      ({ orgId }) =>
        new BurstWriters(
          {
            writers: 2,
            eventsPerRequest: EVENTS_PER_REQUEST,
            mostEvents: EVENTS_EACH,
            orgId,
            apiUrl: api.url,
            apiKey: traffic.serviceKey,
          },
          traffic.ledger,
          world.draw,
        ),
    );
    for (const one of writers) one.start();
    await Promise.all(writers.map((one) => one.untilAllSent()));
    await world.until(() => arrived() >= PUSHED_FIRST, 'the first pushes');
    world.print(`a second dispatcher joins; ${arrived()} of ${slow.length * EVENTS_EACH} are pushed`);
    const second = await world.stages.add('dispatcher');
    const group = world.groupNamed('dispatcher');
    await world.until(() => second.assignmentsOf(group).length > 0, 'its first assignment');
    const left = slow.length * EVENTS_EACH - arrived();
    if (left < LEAST_LEFT) world.problems.push(`only ${left} deliveries were left, so nothing was put to the test`);
    await world.until(() => arrived() === slow.length * EVENTS_EACH, 'the end of the backlog', 120_000);
    const twice = slow.flatMap(({ arrivals }) => [...arrivals.values()]).filter(({ accepted }) => accepted > 1).length;
    const { mostInFlight } = traffic.customers;
    world.print(`${twice} pushed twice; at most ${mostInFlight} were in flight at a time`);
    if (twice > mostInFlight) world.problems.push(`${twice} were pushed twice, and only ${mostInFlight} in flight`);
  },
};
