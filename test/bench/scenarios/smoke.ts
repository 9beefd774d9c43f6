import type { Scenario } from '../bench.js';
import { Deliveries } from '../deliveries.js';

export const smoke: Scenario = {
  name: 'smoke',
  description: 'burst of 5,000 events to one endpoint, then 50 events/s for 10 s',
  limitMs: 300_000,
  async run(bench) {
    const deliveries = await Deliveries.prepare(bench, 1);
    const burst = await deliveries.burst(5_000);
    return [...burst, ...(await deliveries.steady(50, 10))];
  },
};
