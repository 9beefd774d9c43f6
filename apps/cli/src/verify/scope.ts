import type { OrgId, Seq } from '#libs/domain';

/** The part of the log to verify. */
export interface Scope {
  /** `null` for all orgs. */
  readonly orgId: OrgId | null;
  readonly from: Seq;
  /**
   * Epoch milliseconds. Days that ended before this are past retention, so their events need not exist. It grows when a
   * day ends, so it counts after a row was looked for.
   */
  readonly sinceMs: number;
  /** How long to wait until a projection has reached the end that the log had at the start. */
  readonly patienceMs: number;
}
