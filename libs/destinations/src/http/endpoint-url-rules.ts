import { parseNetworks } from './addresses/index.js';
import type { EndpointUrlRules } from './endpoint-url.js';
import { parsePorts } from './ports.js';

/** The settings that restrict the urls of endpoints. */
export interface EndpointUrlSettings {
  readonly allowHttpUrls: boolean;
  readonly allowedPrivateNetworks: string;
  readonly deniedNetworks: string;
  readonly allowedPorts: string;
}

function parsed<Value>(name: string, text: string, parse: (text: string) => Value): Value {
  try {
    return parse(text);
  } catch (error) {
    throw new RangeError(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/**
 * Reads the settings.
 * @throws RangeError that names the variable and the invalid entry
 */
export function endpointUrlRules(settings: EndpointUrlSettings): EndpointUrlRules {
  return {
    allowHttp: settings.allowHttpUrls,
    allowedNetworks: parsed('ALLOWED_PRIVATE_NETWORKS', settings.allowedPrivateNetworks, parseNetworks),
    deniedNetworks: parsed('DENIED_NETWORKS', settings.deniedNetworks, parseNetworks),
    ports: parsed('ALLOWED_PORTS', settings.allowedPorts, parsePorts),
  };
}
