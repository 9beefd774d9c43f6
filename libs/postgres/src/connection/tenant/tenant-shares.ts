import { GaplessError, type OrgId } from '#libs/domain';

/** How long a request waits for others of its organization, milliseconds: as long as for a connection. */
const PATIENCE_MS = 3_000;

interface Waiting {
  readonly orgId: OrgId;
  readonly begin: () => void;
}

/**
 * Shares the connections for requests among organizations. Each may use half of those that the others leave, so slow
 * queries of one never take all. Its other requests wait, first come, first served.
 */
export class TenantShares {
  readonly #used = new Map<OrgId, number>();
  readonly #waiting = new Set<Waiting>();
  #total = 0;

  constructor(
    private readonly connections: number,
    private readonly patienceMs = PATIENCE_MS,
  ) {}

  /** How many requests wait for others of their organization. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** @throws GaplessError `unavailable` if the others of the organization do not end in time */
  async of<T>(orgId: OrgId, act: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(orgId)) this.#add(orgId, 1);
    else await this.#turn(orgId);
    try {
      return await act();
    } finally {
      this.#add(orgId, -1);
      this.#beginNext();
    }
  }

  /** Waits for a place, which then is taken. */
  async #turn(orgId: OrgId): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        orgId,
        begin: () => {
          clearTimeout(timer);
          this.#waiting.delete(waiting);
          this.#add(orgId, 1);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        reject(
          new GaplessError('unavailable', 'Other requests of this organization take too long. Try again after them.'),
        );
      }, this.patienceMs);
      this.#waiting.add(waiting);
    });
  }

  #hasRoom(orgId: OrgId): boolean {
    const used = this.#used.get(orgId) ?? 0;
    return used < Math.ceil((this.connections - (this.#total - used)) / 2);
  }

  #add(orgId: OrgId, count: number): void {
    const used = (this.#used.get(orgId) ?? 0) + count;
    this.#total += count;
    if (used === 0) this.#used.delete(orgId);
    else this.#used.set(orgId, used);
  }

  #beginNext(): void {
    for (const waiting of this.#waiting) if (this.#hasRoom(waiting.orgId)) waiting.begin();
  }
}
