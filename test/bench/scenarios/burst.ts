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
  timesBareLoop: true,
  limitMs: 300_000,
  runsByDefault: 3,
  run: burstTo({ orgs: 1, endpointsEach: 1 }),
};

/** What one partition, and one endpoint, take at the most. */
export const limits: readonly Scenario[] = [
  {
    name: 'one-partition',
    description: 'the same over 50 orgs that share one partition',
    timesBareLoop: true,
    limitMs: 300_000,
    run: burstTo({ orgs: 50, endpointsEach: 1, shareOnePartition: true }),
  },
  {
    name: 'slow-answers',
    description: '5,000 events, 100 a request, to one endpoint that answers after 100 ms',
    timesBareLoop: true,
    limitMs: 300_000,
    async run(bench) {
      const deliveries = await Deliveries.prepare(bench, { orgs: 1, endpointsEach: 1, answersAfterMs: 100 });
      return (await deliveries.burst({ events: 5_000, eventsEachRequest: 100 })).figures;
    },
  },
];

export const orgs: Scenario = {
  name: 'orgs',
  description: 'the same over 50 orgs with one endpoint each',
  timesBareLoop: true,
  limitMs: 300_000,
  runsByDefault: 1,
  run: burstTo({ orgs: 50, endpointsEach: 1 }),
};
