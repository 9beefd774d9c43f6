import type { Scenario } from '../bench.js';
import { Deliveries } from '../deliveries.js';

export const burst: Scenario = {
  name: 'burst',
  description: 'burst of 20,000 events to one endpoint, 64 requests in flight',
  limitMs: 300_000,
  async run(bench) {
    return (await Deliveries.prepare(bench, 1)).burst(20_000);
  },
};
