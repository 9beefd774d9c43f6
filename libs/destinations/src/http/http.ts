import type { DestinationKind } from '../destination-kind.js';
import { endpointUrlRules } from './endpoint-url-rules.js';
import { HttpDestination } from './http-destination.js';
import { createPushClient } from './push/push-client.js';
import { checkEndpointAddress } from './resolve-endpoint-address.js';
import { createResolver } from './resolver.js';
import { sentRequest } from './sent-request.js';
import { watchedProxy } from './watched-proxy.js';

/** How long a registration waits for name servers, milliseconds. */
const LOOK_UP_TIMEOUT_MS = 5_000;

/** Webhooks: a signed POST for each event (contract 6). */
export const http: DestinationKind = {
  schemes: ['https:', 'http:'],

  urlCheck(config) {
    const resolver = createResolver({ dnsServers: config.dnsServers, timeoutMs: LOOK_UP_TIMEOUT_MS });
    const rules = { ...endpointUrlRules(config), resolver };
    return (url) => checkEndpointAddress(url, rules);
  },

  open(context) {
    const { config, clock } = context;
    const client = createPushClient({
      resolver: createResolver({ dnsServers: config.dnsServers, timeoutMs: config.deliveryTimeoutMs }),
      ...endpointUrlRules(config),
      clock,
      egressProxy: watchedProxy(context),
    });
    return new HttpDestination(client, config.deliveryTimeoutMs);
  },

  sentRequest,
};
