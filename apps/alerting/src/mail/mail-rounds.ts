import { setTimeout as delay } from 'node:timers/promises';
import { mailRetryDelayMs, mayBeMailed, messageOf, type Clock, type OrgId } from '#libs/domain';
import type { AlertMail, AlertMails, MailOutcome } from '#libs/postgres';
import { untilItWorks, type HealthBoard, type Logger } from '#libs/runtime';
import type { Metrics } from '#libs/telemetry';
import { MailQuota } from './mail-quota.js';
import { CONNECTIONS, MAIL_TIMES, type MailTransport } from './mail-transport.js';
import { staffMail, type StaffMailContext } from './staff-mail.js';

/** The most connections for the mails of one organization. */
const ORG_CONNECTIONS = 2;
/** How soon a free connection is offered to mails that were not due, milliseconds. */
const LOOK_AGAIN_MS = 1_000;
/** How long a mail is reserved for the process that sends it: longer than an attempt takes. */
const HELD_MS = MAIL_TIMES.mailMs + 30_000;
/** Longer than all attempts take, milliseconds. An older mail waited for processes that did not run, or comes from a backup. */
export const LONGEST_WAIT_MS = 2 * 3_600_000;
const LONGEST_ERROR = 500;
const TOO_OLD = 'the alert is too old to be useful';
const TOO_MANY = 'the organization has had its mails of this hour';
/** The mails in the health of the process. */
export const MAILS_PART = 'mails of staff alerts';
const ATTEMPTS = 'gapless_alert_mails_total';

export interface MailRoundsDependencies {
  readonly mails: AlertMails;
  readonly transport: MailTransport;
  readonly context: StaffMailContext;
  readonly limits: {
    /** Mails of each organization; 0 for no limit. */
    readonly perHour: number;
    /** Those of the recipients; none for any. */
    readonly domains: readonly string[];
  };
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
  readonly #quota: MailQuota;
  #hasFailed = false;
  /** The mails under way, and their orgs. */
  readonly #sending = new Map<Promise<void>, OrgId>();

  constructor(private readonly use: MailRoundsDependencies) {
    this.#quota = new MailQuota(use.limits.perHour);
    for (const outcome of ['sent', 'retry', 'exhausted', 'untried', 'limited'])
      use.metrics.add(ATTEMPTS, { outcome }, 0);
  }

  /**
   * A mail that takes long keeps its connection alone: the others go on with what is due meanwhile.
   * @returns how many mails were tried until none was due or under way; none is begun once the signal is aborted
   */
  async round(signal: AbortSignal): Promise<number> {
    for (let tried = 0; ;) {
      const mails = signal.aborted ? [] : await this.#take();
      for (const mail of mails) this.#begin(mail, signal);
      tried += mails.length;
      this.#show();
      if (this.#sending.size === 0) return tried;
      await Promise.race([...this.#sending.keys(), delay(LOOK_AGAIN_MS, undefined, { ref: false })]);
    }
  }

  /** Resolves once no mail is under way. A round that failed has not waited for its mails. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#sending.keys());
  }

  /**
   * Takes a mail for each free connection. One that waited would lose a part of the time for which it is held. Two
   * organizations whose mails take long would hold all connections, so the last one is for an organization without any.
   */
  async #take(): Promise<readonly AlertMail[]> {
    const free = CONNECTIONS - this.#sending.size;
    if (free === 0) return [];
    const mails = await this.#takeUpTo(free - 1, ORG_CONNECTIONS, []);
    return mails.length < free - 1 ? mails : [...mails, ...(await this.#takeUpTo(1, 1, mails))];
  }

  async #takeUpTo(limit: number, perOrg: number, taken: readonly AlertMail[]): Promise<readonly AlertMail[]> {
    if (limit === 0) return [];
    const nowMs = this.use.clock.now();
    const sending = [...this.#sending.values(), ...taken.map(({ orgId }) => orgId)];
    return this.use.mails.take(nowMs, nowMs + HELD_MS, { limit, sending, perOrg });
  }

  #begin(mail: AlertMail, signal: AbortSignal): void {
    const attempt = this.#attempt(mail, signal).finally(() => this.#sending.delete(attempt));
    this.#sending.set(attempt, mail.orgId);
  }

  /** The answer of the mail server is only in the log: it may name recipients. */
  #show(): void {
    const { health } = this.use;
    if (this.#hasFailed) health.degraded(MAILS_PART, 'the last one was not sent: see alert.not_mailed in the log');
    else health.ready(MAILS_PART);
  }

  async #attempt(mail: AlertMail, signal: AbortSignal): Promise<void> {
    const heldUntilMs = this.use.clock.now() + HELD_MS;
    const outcome = await this.#send(mail);
    await this.#settle(mail, outcome, { heldUntilMs, signal });
    if (outcome.kind === 'failed' && outcome.error === TOO_MANY) {
      this.use.metrics.add(ATTEMPTS, { outcome: 'limited' });
      return;
    }
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

  /** Repeats until Postgres has the outcome: without it, the mail is sent again. Gives up once another process may send it. */
  async #settle(
    mail: AlertMail,
    outcome: MailOutcome,
    until: { readonly heldUntilMs: number; readonly signal: AbortSignal },
  ): Promise<void> {
    await untilItWorks(() => this.use.mails.settle(mail, outcome), {
      onFailure: (error, _failures, waitMs) => {
        if (until.signal.aborted || this.use.clock.now() >= until.heldUntilMs) throw error;
        this.use.logger.warn({ alert_id: mail.alertId, wait_ms: waitMs, err: error }, 'alerting.mails_wait');
      },
    });
  }

  async #send(mail: AlertMail): Promise<MailOutcome> {
    const { perHour, domains } = this.use.limits;
    const emails = mail.emails.filter((email) => mayBeMailed(email, domains));
    if (emails.length === 0) return { kind: 'unwanted' };
    if (this.use.clock.now() - mail.raisedAtMs > LONGEST_WAIT_MS) {
      return { kind: 'failed', error: TOO_OLD, retryAtMs: undefined };
    }
    // Its retries are the same mail.
    const over = mail.attempt === 1 ? this.#quota.countOver(mail.orgId) : 0;
    if (over > 0) {
      if (over === 1) this.use.logger.warn({ org_id: mail.orgId, mails_per_hour: perHour }, 'alert.mails_limited');
      return { kind: 'failed', error: TOO_MANY, retryAtMs: undefined };
    }
    try {
      await this.use.transport.send(staffMail({ ...mail, emails }, this.use.context));
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
