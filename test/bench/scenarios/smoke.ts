import { Deliveries } from '../deliveries.js';
import { figuresOf } from '../figures/figure.js';
import type { Scenario } from '../scenario.js';

export const smoke: Scenario = {
  name: 'smoke',
  description: '5,000 events to one endpoint, then 50 events/s for 10 s',
  limitMs: 300_000,
  async run(bench) {
    const deliveries = await Deliveries.prepare(bench, { orgs: 1, endpointsEach: 1 });
    const { figures } = await deliveries.burst({ events: 5_000, eventsEachRequest: 1 });
    return [...figuresOf('burst', figures), ...figuresOf('steady', await deliveries.steady(50, 10))];
  },
};
