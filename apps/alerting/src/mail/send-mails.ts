import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { AlertMails, Store } from '#libs/feed-store';
import { CLOCK, CONFIG, LOGGER } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';
import { MailRounds } from './mail-rounds.js';
import { createMailTransport, senderOf, type MailTransport } from './mail-transport.js';

const ROUND_EVERY_MS = 1_000;

/** Sends the mails of staff alerts for as long as it runs, where SMTP is configured. */
@Injectable()
export class SendMails implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #transport: MailTransport | null;
  readonly #rounds: MailRounds | null;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;

  constructor(
    private readonly store: Store,
    @Inject(CONFIG) { smtpUrl, publicUrl }: Config,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#transport = smtpUrl === null ? null : createMailTransport(smtpUrl);
    this.#rounds =
      this.#transport === null || smtpUrl === null
        ? null
        : new MailRounds({
            mails: new AlertMails(store),
            transport: this.#transport,
            context: { from: senderOf(smtpUrl), publicUrl },
            clock,
            logger,
          });
  }

  onApplicationBootstrap(): void {
    const rounds = this.#rounds;
    if (rounds === null) return;
    this.#timer = setInterval(() => {
      this.#round ??= this.#attempt(rounds).finally(() => {
        this.#round = null;
      });
    }, ROUND_EVERY_MS);
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#round;
    await this.#transport?.close();
  }

  async #attempt(rounds: MailRounds): Promise<void> {
    if (!this.store.isOpen) return;
    try {
      await rounds.round();
    } catch (error) {
      this.logger.warn({ err: error }, 'alerting.mails_wait');
    }
  }
}
