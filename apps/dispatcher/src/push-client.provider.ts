import type { FactoryProvider } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { Metrics } from '#libs/telemetry';
import { CLOCK, CONFIG, LOGGER } from '#libs/platform';
import { HealthBoard, type Config, type Logger } from '#libs/runtime';
import {
  createPushClient,
  createResolver,
  endpointUrlRules,
  type EgressProxyOptions,
  type PushClient,
} from '#libs/webhook-transport';

export const PUSH_CLIENT = Symbol('PushClient');

/** The way to the customers' endpoints, a part of its own so that a simulation can take another one. */
export const pushClient: FactoryProvider<PushClient> = {
  provide: PUSH_CLIENT,
  useFactory: (config: Config, clock: Clock, health: HealthBoard, metrics: Metrics, logger: Logger) => {
    const { egressProxy: url, deliveryTimeoutMs: timeoutMs } = config;
    metrics.set('gapless_egress_proxy_away', {}, 0);
    return createPushClient({
      resolver: createResolver({ dnsServers: [...config.dnsServers], timeoutMs }),
      ...endpointUrlRules(config),
      clock,
      egressProxy: url === null ? undefined : watchedProxy(url, health, metrics, logger),
    });
  },
  inject: [CONFIG, CLOCK, HealthBoard, Metrics, LOGGER],
};

/** Pushes wait while the proxy is away, and everybody may know why. */
function watchedProxy(url: string, health: HealthBoard, metrics: Metrics, logger: Logger): EgressProxyOptions {
  health.ready('egress-proxy');
  return {
    url,
    onChange: (reason) => {
      metrics.set('gapless_egress_proxy_away', {}, reason === null ? 0 : 1);
      if (reason === null) {
        health.ready('egress-proxy');
        logger.info({}, 'egress_proxy.back');
      } else {
        health.waiting('egress-proxy', reason);
        logger.warn({ reason }, 'egress_proxy.away');
      }
    },
  };
}
