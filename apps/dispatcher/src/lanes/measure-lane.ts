import type { Metrics } from '#libs/telemetry';
import type { Lane } from './lane.js';
import type { PacedPump } from '../pacing/paced-pump.js';

/** Reports how full a lane is. */
export function measureLane(metrics: Metrics, lane: Lane, name: 'first' | 'main' | 'slow'): void {
  metrics.beforeScrape(() => {
    metrics.set('gapless_attempts_in_flight', { lane: name }, lane.inFlight);
    metrics.set('gapless_attempts_held', { lane: name }, lane.held);
    metrics.set('gapless_sluggish_endpoints', { lane: name }, lane.sluggishEndpoints);
  });
}

/** Reports the attempts of paced endpoints. */
export function measurePump(metrics: Metrics, pump: PacedPump): void {
  metrics.beforeScrape(() => {
    metrics.set('gapless_attempts_in_flight', { lane: 'paced' }, pump.inFlight);
    metrics.set('gapless_attempts_held', { lane: 'paced' }, pump.held);
  });
}
