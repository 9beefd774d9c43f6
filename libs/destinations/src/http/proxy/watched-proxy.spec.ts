import { expect, it } from '@jest/globals';
import { systemClock } from '#libs/domain';
import { createLogger, HealthBoard, type Config } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { watchedProxy } from './watched-proxy.js';

it('shows a proxy that is away as degraded: the process stays ready for everything else', () => {
  const health = new HealthBoard();
  const config = { egressProxy: 'http://proxy.internal:4750' } as Config;
  const logger = createLogger('silent', 'test');
  const proxy = watchedProxy({ config, clock: systemClock, health, metrics: new Metrics(), logger });
  expect(health.parts()).toEqual({ 'egress-proxy': { status: 'ready' } });
  proxy?.onChange?.('the egress proxy cannot be reached: ECONNREFUSED');
  expect(health.isReady).toBe(true);
  expect(health.parts()).toEqual({
    'egress-proxy': { status: 'degraded', reason: 'the egress proxy cannot be reached: ECONNREFUSED' },
  });
  proxy?.onChange?.(null);
  expect(health.parts()).toEqual({ 'egress-proxy': { status: 'ready' } });
});
