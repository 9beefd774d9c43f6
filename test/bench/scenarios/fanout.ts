import { Deliveries } from '../deliveries.js';
import type { Scenario } from '../scenario.js';

export const fanout: Scenario = {
  name: 'fanout',
  description: '2,000 events to 10 endpoints each, 64 requests in flight',
  timesBareLoop: true,
  limitMs: 300_000,
  runsByDefault: 3,
  async run(bench) {
    const deliveries = await Deliveries.prepare(bench, { orgs: 1, endpointsEach: 10 });
    return (await deliveries.burst({ events: 2_000, eventsEachRequest: 1 })).figures;
  },
};
