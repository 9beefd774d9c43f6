import type { DestinationContext } from '../../destination-kind.js';
import type { EgressProxyOptions } from './egress-proxy.js';

/** Returns the proxy of `EGRESS_PROXY`. While it is away pushes wait, and health, metrics and log report that. */
export function watchedProxy({ config, health, metrics, logger }: DestinationContext): EgressProxyOptions | undefined {
  metrics.set('gapless_egress_proxy_away', {}, 0);
  if (config.egressProxy === null) return undefined;
  health.ready('egress-proxy');
  return {
    url: config.egressProxy,
    onChange: (reason) => {
      metrics.set('gapless_egress_proxy_away', {}, reason === null ? 0 : 1);
      if (reason === null) {
        health.ready('egress-proxy');
        logger.info({}, 'egress_proxy.back');
      } else {
        health.degraded('egress-proxy', reason);
        logger.warn({ reason }, 'egress_proxy.away');
      }
    },
  };
}
