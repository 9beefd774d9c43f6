import { Inject, Injectable } from '@nestjs/common';
import { urlCheck } from '#libs/destinations';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { errorOf } from '../http/validation-error.js';

/** Whether a url may be registered (contract 5.2, 6.5). */
@Injectable()
export class EndpointUrlCheck {
  readonly #check: ReturnType<typeof urlCheck>;

  constructor(@Inject(CONFIG) config: Config) {
    this.#check = urlCheck(config);
  }

  /** @throws GaplessError `url_invalid`, `url_not_https`, `url_private_network`, `url_unresolvable` */
  async check(url: string): Promise<void> {
    const verdict = await this.#check(url);
    if (!verdict.ok) throw errorOf(verdict.code, [{ pointer: '#/url', code: verdict.code, detail: verdict.detail }]);
  }
}
