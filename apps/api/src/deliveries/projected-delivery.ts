import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { DeliveryId, EndpointId, OrgId } from '#libs/domain';
import { DeliveryLog, type DeliveryRecord } from '#libs/postgres';

/** How long an operation waits until the projection shows what it did (contract 5.1). */
const PATIENCE_MS = 5_000;
const LOOK_EVERY_MS = 20;

/** Waits for the projection, which lags the log by a moment. */
@Injectable()
export class ProjectedDelivery {
  constructor(private readonly log: DeliveryLog) {}

  /** The delivery once its run has come so far; `undefined` if that takes too long, and nothing is lost then. */
  async of(orgId: OrgId, endpointId: EndpointId, id: DeliveryId, run: number): Promise<DeliveryRecord | undefined> {
    const deadline = performance.now() + PATIENCE_MS;
    while (performance.now() < deadline) {
      const found = await this.log.find(orgId, endpointId, id);
      if (found !== undefined && found.run >= run) return found;
      await delay(LOOK_EVERY_MS);
    }
    return undefined;
  }
}
