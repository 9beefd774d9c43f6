import { setTimeout as delay } from 'node:timers/promises';
import { figure } from '../figures/figure.js';
import type { Scenario } from '../scenario.js';
import { systemUsage } from '../system/process-usage.js';

const SETTLE_MS = 5_000;
const IDLE_MS = 10_000;

export const idle: Scenario = {
  name: 'idle',
  description: 'a fresh Gapless that has nothing to do, for 10 s',
  limitMs: 120_000,
  runsByDefault: 1,
  async run(bench) {
    const gapless = await bench.ownGapless();
    await delay(SETTLE_MS, undefined, { signal: bench.signal });
    bench.print('doing nothing');
    const resources = bench.resources(gapless);
    await delay(IDLE_MS, undefined, { signal: bench.signal });
    const usage = systemUsage(gapless.pid);
    return [
      figure('memory, Node stages', usage?.own.residentMB, 'MB'),
      figure('memory, Kafka', usage?.kafka.residentMB, 'MB'),
      figure('memory, Postgres, PSS', usage?.postgres.proportionalMB, 'MB'),
      ...resources.cores(),
    ];
  },
};
