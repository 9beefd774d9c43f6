import type { Scenario } from '../bench.js';
import { Deliveries } from '../deliveries.js';

export const fanOut: Scenario = {
  name: 'fan-out',
  description: 'burst of 2,000 events to 10 endpoints, 64 requests in flight',
  limitMs: 300_000,
  async run(bench) {
    return (await Deliveries.prepare(bench, 10)).burst(2_000);
  },
};
