import type { OrgId } from '#libs/domain';

/**
 * The most verifications in a minute by one organization: many names can be those of one host, so it could flood that by
 * varying the name.
 */
export const PER_ORG = 60;
/** The most verifications of one host in a minute by one organization: nobody can flood a host by varying the path or port. */
export const PER_ORG_AND_HOST = 20;
/**
 * The most by all organizations. No single one gets near it, so none keeps others from a host. Gapless is still no tool
 * for many against a host.
 */
export const PER_HOST = 200;
/** The most verifications at the same time. A host that hangs holds one for some seconds. */
const AT_ONCE = 100;
const AT_ONCE_PER_ORG = 20;
export const WINDOW_MS = 60_000;

/** The bound that was reached. */
export interface ReachedLimit {
  readonly max: number;
}

/** Counts the verifications of callbacks that have begun in the last minute, and those that run, in this process. */
export class VerificationLimits {
  /** When verifications began in the last minute, by org, by org and host, and by host. */
  readonly #begun = new Map<string, number[]>();
  readonly #running = new Map<OrgId, number>();
  #all = 0;

  /**
   * @param nowMs by a clock that nobody sets
   * @returns what ends the verification, or the bound that it would exceed; such a verification does not count
   */
  begin(orgId: OrgId, url: string, nowMs: number): (() => void) | ReachedLimit {
    this.#forget(nowMs - WINDOW_MS);
    const host = hostOf(url);
    const ofOrg = this.#running.get(orgId) ?? 0;
    if (ofOrg >= AT_ONCE_PER_ORG) return { max: AT_ONCE_PER_ORG };
    if (this.#all >= AT_ONCE) return { max: AT_ONCE };
    const counts = [
      // No host has a space in its name.
      [`${orgId} `, PER_ORG],
      [`${orgId} ${host}`, PER_ORG_AND_HOST],
      [host, PER_HOST],
    ] as const;
    for (const [what, max] of counts) if ((this.#begun.get(what)?.length ?? 0) >= max) return { max };
    for (const [what] of counts) this.#begun.set(what, [...(this.#begun.get(what) ?? []), nowMs]);
    this.#all++;
    this.#running.set(orgId, ofOrg + 1);
    return () => {
      this.#end(orgId);
    };
  }

  #end(orgId: OrgId): void {
    this.#all--;
    const left = (this.#running.get(orgId) ?? 0) - 1;
    if (left > 0) this.#running.set(orgId, left);
    else this.#running.delete(orgId);
  }

  #forget(beforeMs: number): void {
    for (const [what, times] of this.#begun) {
      const recent = times.filter((atMs) => atMs > beforeMs);
      if (recent.length === 0) this.#begun.delete(what);
      else if (recent.length < times.length) this.#begun.set(what, recent);
    }
  }
}

/** Returns the name of the host, which is one host on all of its ports, and with a final dot, too. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/\.$/, '');
}
