import { Deliveries, type DeliveriesOptions } from '../deliveries.js';
import { figuresOf } from '../figures/figure.js';
import type { Scenario } from '../scenario.js';

const EVENTS = 20_000;

/** 20,000 events, one a request, then as many again, 100 a request. */
function burstTo(options: DeliveriesOptions): Scenario['run'] {
  return async (bench) => {
    const deliveries = await Deliveries.prepare(bench, options);
    const single = await deliveries.burst({ events: EVENTS, eventsEachRequest: 1 });
    const bulk = await deliveries.burst({ events: EVENTS, eventsEachRequest: 100 }, single.bareLoopAfter);
    return [...figuresOf('1 a request', single.figures), ...figuresOf('100 a request', bulk.figures)];
  };
}

export const burst: Scenario = {
  name: 'burst',
  description: '20,000 events of one org to one endpoint, 64 requests in flight: one event a request, then 100',
  limitMs: 300_000,
  runsByDefault: 3,
  run: burstTo({ orgs: 1, endpointsEach: 1 }),
};

export const orgs: Scenario = {
  name: 'orgs',
  description: 'the same over 50 orgs with one endpoint each',
  limitMs: 300_000,
  runsByDefault: 1,
  run: burstTo({ orgs: 50, endpointsEach: 1 }),
};
