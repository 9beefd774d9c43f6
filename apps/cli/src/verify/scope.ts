import type { OrgId, Seq } from '#libs/domain';

/** The part of the log to verify. */
export interface Scope {
  /** `null` for all orgs. */
  readonly orgId: OrgId | null;
  readonly from: Seq;
  /** Epoch milliseconds: days that ended before are past retention as a whole, and rightly gone. */
  readonly sinceMs: number;
  /** How long a projection may take to come to where the log ended when this began. */
  readonly patienceMs: number;
}
