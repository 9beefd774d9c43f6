import { mailRetryDelayMs, messageOf, type Clock } from '#libs/domain';
import type { AlertMail, AlertMails, MailOutcome } from '#libs/postgres';
import type { HealthBoard, Logger } from '#libs/runtime';
import type { Metrics } from '#libs/telemetry';
import { CONNECTIONS, MAIL_TIMES, type MailTransport } from './mail-transport.js';
import { staffMail, type StaffMailContext } from './staff-mail.js';

/** A mail that waited for a connection would lose a part of the time for which it is held. */
const BATCH = CONNECTIONS;
/** How long a mail is reserved for the process that sends it: longer than an attempt takes. */
const HELD_MS = MAIL_TIMES.mailMs + 30_000;
/** Longer than all attempts take, milliseconds. An older mail waited for processes that did not run, or comes from a backup. */
export const LONGEST_WAIT_MS = 2 * 3_600_000;
const LONGEST_ERROR = 500;
const TOO_OLD = 'the alert is too old to be useful';
/** The mails in the health of the process. */
export const MAILS_PART = 'mails of staff alerts';
const ATTEMPTS = 'gapless_alert_mails_total';

export interface MailRoundsDependencies {
  readonly mails: AlertMails;
  readonly transport: MailTransport;
  readonly context: StaffMailContext;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly health: HealthBoard;
}

/**
 * Sends the mails that are due, one for each staff alert, and retries with back-off. If a process dies after the
 * server's answer but before the answer is saved, the mail is sent again under the same Message-ID.
 */
export class MailRounds {
  #hasFailed = false;

  constructor(private readonly use: MailRoundsDependencies) {
    for (const outcome of ['sent', 'retry', 'exhausted', 'untried']) use.metrics.add(ATTEMPTS, { outcome }, 0);
  }

  /** @returns how many mails were tried until none was due, or the signal was aborted */
  async round(signal: AbortSignal): Promise<number> {
    let tried = 0;
    while (!signal.aborted) {
      const nowMs = this.use.clock.now();
      const mails = await this.use.mails.take(nowMs, nowMs + HELD_MS, BATCH);
      await Promise.all(mails.map((mail) => this.#attempt(mail)));
      tried += mails.length;
      if (mails.length < BATCH) break;
    }
    this.#show();
    return tried;
  }

  /** The answer of the mail server is only in the log: it may name recipients. */
  #show(): void {
    const { health } = this.use;
    if (this.#hasFailed) health.degraded(MAILS_PART, 'the last one was not sent: see alert.not_mailed in the log');
    else health.ready(MAILS_PART);
  }

  async #attempt(mail: AlertMail): Promise<void> {
    const outcome = await this.#send(mail);
    await this.use.mails.settle(mail, outcome);
    if (outcome.kind !== 'unwanted') this.#hasFailed = outcome.kind === 'failed';
    const line = { alert_id: mail.alertId, org_id: mail.orgId, attempt: mail.attempt, outcome: outcome.kind };
    if (outcome.kind === 'failed') {
      const end = outcome.error === TOO_OLD && mail.attempt === 1 ? 'untried' : 'exhausted';
      this.use.metrics.add(ATTEMPTS, { outcome: outcome.retryAtMs === undefined ? end : 'retry' });
      this.use.logger.warn({ ...line, reason: outcome.error, retry_at_ms: outcome.retryAtMs }, 'alert.not_mailed');
    } else {
      if (outcome.kind === 'sent') this.use.metrics.add(ATTEMPTS, { outcome: 'sent' });
      this.use.logger.info(line, 'alert.mailed');
    }
  }

  async #send(mail: AlertMail): Promise<MailOutcome> {
    if (mail.emails.length === 0) return { kind: 'unwanted' };
    if (this.use.clock.now() - mail.raisedAtMs > LONGEST_WAIT_MS) {
      return { kind: 'failed', error: TOO_OLD, retryAtMs: undefined };
    }
    try {
      await this.use.transport.send(staffMail(mail, this.use.context));
      return { kind: 'sent' };
    } catch (error) {
      const delayMs = mailRetryDelayMs(mail.attempt);
      return {
        kind: 'failed',
        error: messageOf(error).slice(0, LONGEST_ERROR),
        retryAtMs: delayMs === undefined ? undefined : this.use.clock.now() + delayMs,
      };
    }
  }
}
