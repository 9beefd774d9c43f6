import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import {
  checkEndpointAddress,
  createResolver,
  endpointUrlRules,
  type EndpointUrlRules,
  type Resolver,
} from '#libs/webhook-transport';
import { errorOf } from '../http/validation-error.js';

/** How long a registration waits for name servers. */
const LOOK_UP_TIMEOUT_MS = 5_000;

/** Whether a url may be registered (contract 5.2, 6.5). */
@Injectable()
export class EndpointUrlCheck {
  readonly #rules: EndpointUrlRules & { readonly resolver: Resolver };

  constructor(@Inject(CONFIG) config: Config) {
    this.#rules = {
      ...endpointUrlRules(config),
      resolver: createResolver({ dnsServers: config.dnsServers, timeoutMs: LOOK_UP_TIMEOUT_MS }),
    };
  }

  /** @throws GaplessError `url_invalid`, `url_not_https`, `url_private_network`, `url_unresolvable` */
  async check(url: string): Promise<void> {
    const result = await checkEndpointAddress(url, this.#rules);
    if (!result.ok) throw errorOf(result.code, [{ pointer: '#/url', code: result.code, detail: result.detail }]);
  }
}
