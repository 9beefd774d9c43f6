import { Deliveries } from '../deliveries.js';
import type { Scenario } from '../scenario.js';

export const steady: Scenario = {
  name: 'steady',
  description: '100 events/s to one endpoint for 20 s',
  limitMs: 300_000,
  runsByDefault: 3,
  async run(bench) {
    return (await Deliveries.prepare(bench, { orgs: 1, endpointsEach: 1 })).steady(100, 20);
  },
};
