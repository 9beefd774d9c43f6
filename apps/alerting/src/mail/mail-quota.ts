import type { OrgId } from '#libs/domain';

const HOUR_MS = 3_600_000;

interface Hour {
  readonly endsMs: number;
  mails: number;
}

/**
 * Counts the mails of each organization, by the hour, in this process. Organizations choose the recipients, who may be
 * strangers, and the mails come from the operator's server. A clock that is set back makes no hour longer.
 */
export class MailQuota {
  /** In the order in which they end. */
  readonly #hours = new Map<OrgId, Hour>();

  /** @param perHour 0 for no limit */
  constructor(private readonly perHour: number) {}

  /** Counts a mail. @returns how many mails of this hour are too many, with this one; 0 if it may be sent */
  countOver(orgId: OrgId): number {
    if (this.perHour === 0) return 0;
    const nowMs = performance.now();
    for (const [other, { endsMs }] of this.#hours) {
      if (endsMs <= nowMs) this.#hours.delete(other);
      else break;
    }
    const hour = this.#hours.get(orgId) ?? { endsMs: nowMs + HOUR_MS, mails: 0 };
    this.#hours.set(orgId, hour);
    return Math.max(0, ++hour.mails - this.perHour);
  }
}
