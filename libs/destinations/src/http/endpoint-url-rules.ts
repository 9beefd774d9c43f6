import type { Config } from '#libs/runtime';
import type { EndpointUrlRules } from './endpoint-url.js';

/** The settings that restrict the urls of endpoints. */
export type EndpointUrlSettings = Pick<
  Config,
  'allowHttpUrls' | 'allowedPrivateNetworks' | 'deniedNetworks' | 'allowedPorts'
>;

export function endpointUrlRules(settings: EndpointUrlSettings): EndpointUrlRules {
  return {
    allowHttp: settings.allowHttpUrls,
    allowedNetworks: settings.allowedPrivateNetworks,
    deniedNetworks: settings.deniedNetworks,
    ports: settings.allowedPorts,
  };
}
