import type { Scenario } from '../bench.js';
import { Deliveries } from '../deliveries.js';

export const steady: Scenario = {
  name: 'steady',
  description: '100 events/s to one endpoint for 20 s',
  limitMs: 300_000,
  async run(bench) {
    return (await Deliveries.prepare(bench, 1)).steady(100, 20);
  },
};
