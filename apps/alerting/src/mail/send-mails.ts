import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { AlertMails } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER, RegularWork } from '#libs/platform';
import { HealthBoard, type Config, type Logger } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { MailRounds, MAILS_PART } from './mail-rounds.js';
import { createMailTransport, senderOf, type MailTransport } from './mail-transport.js';

const ROUND_EVERY_MS = 1_000;
/** How long a process that ends waits for mails under way. A slow server would keep it for minutes. */
const LAST_MAILS_MS = 10_000;

/** Sends the mails of staff alerts every second, if SMTP is configured. */
@Injectable()
export class SendMails extends RegularWork {
  readonly #transport: MailTransport | null;
  readonly #rounds: MailRounds | null = null;

  constructor(
    mails: AlertMails,
    @Inject(CONFIG) { smtpUrl, publicUrl, alertMailsPerHour, alertMailDomains }: Config,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
    private readonly health: HealthBoard,
  ) {
    super({ everyMs: ROUND_EVERY_MS });
    this.#transport = smtpUrl === null ? null : createMailTransport(smtpUrl);
    if (this.#transport === null || smtpUrl === null) return;
    this.#rounds = new MailRounds({
      mails,
      transport: this.#transport,
      context: { from: senderOf(smtpUrl), publicUrl },
      limits: { perHour: alertMailsPerHour, domains: alertMailDomains },
      clock,
      logger,
      metrics,
      health,
    });
  }

  override onApplicationBootstrap(): void {
    if (this.#rounds !== null) super.onApplicationBootstrap();
  }

  override async beforeApplicationShutdown(): Promise<void> {
    const cutting = setTimeout(() => void this.#transport?.close(), LAST_MAILS_MS);
    await super.beforeApplicationShutdown();
    await this.#rounds?.idle();
    clearTimeout(cutting);
    await this.#transport?.close();
  }

  protected async act(signal: AbortSignal): Promise<undefined> {
    await this.#rounds?.round(signal);
  }

  protected failed(error: unknown): void {
    this.health.degraded(MAILS_PART, 'they cannot be looked up: see alerting.mails_wait in the log');
    this.logger.warn({ err: error }, 'alerting.mails_wait');
  }
}
