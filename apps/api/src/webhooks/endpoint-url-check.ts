import { Inject, Injectable } from '@nestjs/common';
import type { EndpointAuth } from '#libs/domain';
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
  async check(url: string, pointer = '#/url'): Promise<void> {
    const verdict = await this.#check(url);
    if (!verdict.ok) throw errorOf(verdict.code, [{ pointer, code: verdict.code, detail: verdict.detail }]);
  }

  /** Checks the urls of an endpoint that a request gives. @throws GaplessError as `check` */
  async checkAll({ url, auth }: { readonly url?: string; readonly auth?: EndpointAuth | null }): Promise<void> {
    if (url !== undefined) await this.check(url);
    if (auth?.type === 'oauth2') await this.check(auth.token_url, '#/auth/token_url');
  }
}
