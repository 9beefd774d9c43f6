import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { AlertMails, Store } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER } from '#libs/platform';
import { Regularly, type Config, type Logger } from '#libs/runtime';
import { MailRounds } from './mail-rounds.js';
import { createMailTransport, senderOf, type MailTransport } from './mail-transport.js';

const ROUND_EVERY_MS = 1_000;

/** Sends the mails of staff alerts for as long as it runs, where SMTP is configured. */
@Injectable()
export class SendMails implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #transport: MailTransport | null;
  readonly #rounds: Regularly | null = null;

  constructor(
    store: Store,
    mails: AlertMails,
    @Inject(CONFIG) { smtpUrl, publicUrl }: Config,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#transport = smtpUrl === null ? null : createMailTransport(smtpUrl);
    if (this.#transport === null || smtpUrl === null) return;
    const rounds = new MailRounds({
      mails,
      transport: this.#transport,
      context: { from: senderOf(smtpUrl), publicUrl },
      clock,
      logger,
    });
    this.#rounds = new Regularly({
      everyMs: ROUND_EVERY_MS,
      act: async () => {
        if (store.isOpen) await rounds.round();
        return undefined;
      },
      onFailure: (error) => {
        logger.warn({ err: error }, 'alerting.mails_wait');
      },
    });
  }

  onApplicationBootstrap(): void {
    this.#rounds?.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#rounds?.stop();
    await this.#transport?.close();
  }
}
