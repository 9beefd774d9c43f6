import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { DeliveryId, EndpointId, OrgId } from '#libs/domain';
import { DeliveryLog, type DeliveryRecord } from '#libs/postgres';

/** How long an operation waits until the projection shows its effect (contract 5.1). */
const PATIENCE_MS = 5_000;
/** The first wait between two looks. The projection usually shows the effect within this time. */
const FIRST_WAIT_MS = 20;
/** Each wait is so many times the one before: the answer comes at most half as late again. */
const WAIT_GROWTH = 1.5;
/** The projection is behind by more. Many requests may wait for it then, and it needs Postgres. */
const LONGEST_WAIT_MS = 250;

/** Waits for the projection, which lags the log by a moment. */
@Injectable()
export class ProjectedDelivery {
  constructor(private readonly log: DeliveryLog) {}

  /** Returns the delivery once the projection shows the run; `undefined` after 5 s, in which case nothing is lost. */
  async of(orgId: OrgId, endpointId: EndpointId, id: DeliveryId, run: number): Promise<DeliveryRecord | undefined> {
    return this.when(orgId, endpointId, id, (found) => found.run >= run);
  }

  /**
   * Returns the delivery once it is as it is waited for; `undefined` after 5 s, in which case nothing is lost. It never
   * fails, because the operation has taken effect.
   */
  async when(
    orgId: OrgId,
    endpointId: EndpointId,
    id: DeliveryId,
    isThere: (found: DeliveryRecord) => boolean,
  ): Promise<DeliveryRecord | undefined> {
    const ended = new AbortController();
    const look = async () => {
      // What cannot be seen because Postgres does not answer may be seen by the next look.
      const found = await this.log.find(orgId, endpointId, id).catch(() => undefined);
      return found !== undefined && isThere(found) ? found : undefined;
    };
    try {
      const patience = delay(PATIENCE_MS, undefined, { signal: ended.signal });
      return await Promise.race([lookAgain(look, ended.signal), patience]);
    } finally {
      ended.abort();
    }
  }
}

/** Looks until there is something, or nobody waits for it any more. */
async function lookAgain<T>(look: () => Promise<T | undefined>, ended: AbortSignal): Promise<T | undefined> {
  for (let waitMs = FIRST_WAIT_MS; !ended.aborted; waitMs = nextWait(waitMs)) {
    const found = await look();
    if (found !== undefined) return found;
    await delay(waitMs);
  }
  return undefined;
}

function nextWait(waitMs: number): number {
  return Math.min(LONGEST_WAIT_MS, waitMs * WAIT_GROWTH);
}
