import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { loadCertificate, urlCheck } from '#libs/destinations';
import { CLOCK, CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { errorOf } from '../http/validation-error.js';
import type { UpdateWebhookDto } from './webhook.dto.js';

/** Whether a url, and what comes with it, may be registered (contract 3.6, 5.2, 6.5). */
@Injectable()
export class EndpointUrlCheck {
  readonly #check: ReturnType<typeof urlCheck>;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#check = urlCheck(config);
  }

  /** @throws GaplessError `url_invalid`, `url_not_https`, `url_private_network`, `url_unresolvable` */
  async check(url: string, pointer = '#/url'): Promise<void> {
    const verdict = await this.#check(url);
    if (!verdict.ok) throw errorOf(verdict.code, [{ pointer, code: verdict.code, detail: verdict.detail }]);
  }

  /**
   * Checks the urls and the client certificate that a request gives.
   * @throws GaplessError as `check`, and `validation_failed`
   */
  async checkAll(body: Pick<UpdateWebhookDto, 'url' | 'auth' | 'client_certificate'>): Promise<void> {
    const { url, auth, client_certificate: certificate } = body;
    const loaded = certificate && loadCertificate(certificate, this.clock.now());
    if (loaded?.kind === 'refused') {
      const { member, detail } = loaded;
      throw errorOf('validation_failed', [{ pointer: `#/client_certificate/${member}`, code: 'not_allowed', detail }]);
    }
    if (url !== undefined) await this.check(url);
    if (auth?.type === 'oauth2') await this.check(auth.token_url, '#/auth/token_url');
  }
}
