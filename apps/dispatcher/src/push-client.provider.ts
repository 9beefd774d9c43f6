import type { FactoryProvider } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { CLOCK, CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { createPushClient, createResolver, endpointUrlRules, type PushClient } from '#libs/webhook-transport';

export const PUSH_CLIENT = Symbol('PushClient');

/** The way to the customers' endpoints, a part of its own so that a simulation can take another one. */
export const pushClient: FactoryProvider<PushClient> = {
  provide: PUSH_CLIENT,
  useFactory: (config: Config, clock: Clock) =>
    createPushClient({
      resolver: createResolver({ dnsServers: [...config.dnsServers], timeoutMs: config.deliveryTimeoutMs }),
      ...endpointUrlRules(config),
      clock,
    }),
  inject: [CONFIG, CLOCK],
};
