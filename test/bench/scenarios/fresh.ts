import { Deliveries } from '../deliveries.js';
import type { Scenario } from '../scenario.js';

export const fresh: Scenario = {
  name: 'fresh',
  description: '100 events/s to one endpoint for 30 s, right after a first start',
  limitMs: 120_000,
  runsByDefault: 1,
  async run(bench) {
    const gapless = await bench.ownGapless();
    return (await Deliveries.prepareCold(bench, { orgs: 1, endpointsEach: 1 }, gapless)).steady(100, 30);
  },
};
