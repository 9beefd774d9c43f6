import type { DestinationKind } from '../destination-kind.js';
import { endpointUrlRules } from './endpoint-url-rules.js';
import { HttpDestination } from './http-destination.js';
import { AccessTokens } from './oauth/access-tokens.js';
import { createPushClient } from './push/push-client.js';
import { checkEndpointAddress } from './resolve-endpoint-address.js';
import { createResolver } from './resolver.js';
import { sentRequest } from './sent-request.js';
import { watchedProxy } from './proxy/watched-proxy.js';

/** How long a registration waits for name servers, milliseconds. */
const LOOK_UP_TIMEOUT_MS = 5_000;
/** The longest that a token endpoint may take, milliseconds. */
const TOKEN_TIMEOUT_MS = 5_000;

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
    const { deliveryTimeoutMs } = config;
    // Within the time of an attempt, so that the receiver has at least half of it.
    const tokens = new AccessTokens(client, Math.min(TOKEN_TIMEOUT_MS, Math.floor(deliveryTimeoutMs / 2)));
    return new HttpDestination(client, tokens, clock, deliveryTimeoutMs);
  },

  sentRequest,
};
