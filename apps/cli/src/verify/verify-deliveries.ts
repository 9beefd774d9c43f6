import { DeliveryAudit, type AuditedDelivery, type DeliveryId, type EndpointId } from '#libs/domain';
import { DeliveryLogAudit, type DeliveryLogSnapshot } from '#libs/postgres';
import { LogPositions, streamPartitions, type PartitionStretch, type RecordBatch } from '#libs/kafka-log';
import { factOf } from '../fact-of.js';
import type { Installation } from '../installation.js';
import { awaitProjection } from './await-projection.js';
import type { Differences } from './difference.js';
import type { Progress } from './progress.js';
import type { Scope } from './scope.js';

/** The findings about the delivery log. */
export interface DeliveryVerdict {
  readonly facts: number;
  /** How many other records are there, such as a batch that cannot be read. All readers skip them. */
  readonly foreign: number;
  /** How many deliveries were compared. */
  readonly compared: number;
}

/** Facts of a partition that one round folds. Their deliveries take about 200 MB of memory at most. */
const FACTS_AT_ONCE = 500_000;
const DELIVERIES_AT_ONCE = 1_000;

/**
 * Folds the delivery facts again, up to the offsets of a snapshot of the delivery log, and compares each delivery with
 * the snapshot.
 */
export async function verifyDeliveries(
  installation: Installation,
  scope: Scope,
  differences: Differences,
  progress: Progress,
  factsAtOnce = FACTS_AT_ONCE,
): Promise<DeliveryVerdict> {
  const { connection, topics, store } = installation;
  const bounds = await new LogPositions(connection).bounds(topics.deliveries);
  const awaited = { projection: 'deliveries', topic: topics.deliveries, bounds };
  await awaitProjection(installation, awaited, scope.patienceMs, differences);
  return new DeliveryLogAudit(store).atOneMoment(topics.deliveries, async (snapshot) => {
    const verification = new DeliveryVerification(installation, snapshot, scope, differences, progress);
    for (const [partition, { begin }] of bounds) {
      const to = snapshot.offsets.get(partition) ?? begin;
      const stretch = { topic: topics.deliveries, partition, from: begin, to };
      if (to > begin) await verification.verify(stretch, Math.ceil((to - begin) / factsAtOnce));
    }
    return verification.finish();
  });
}

class DeliveryVerification {
  /** How many deliveries of each endpoint the facts have. */
  readonly #expected = new Map<EndpointId, number>();
  #facts = 0;
  #foreign = 0;
  #compared = 0;

  constructor(
    private readonly installation: Installation,
    private readonly snapshot: DeliveryLogSnapshot,
    private readonly scope: Scope,
    private readonly differences: Differences,
    private readonly progress: Progress,
  ) {}

  /** @param rounds how often the facts are read; each round folds its share of the deliveries */
  async verify(stretch: PartitionStretch & { readonly to: number }, rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      const audit = new DeliveryAudit(this.installation.config.autoDisableAfter, (id) => shareOf(id, rounds) === round);
      const isFirst = round === 0;
      this.progress.begin(`deliveries, partition ${stretch.partition}`, stretch.to - stretch.from);
      try {
        const add = ({ records }: RecordBatch) => {
          const facts = records.map(factOf).filter((fact) => fact !== undefined);
          for (const fact of facts) audit.add(fact);
          if (isFirst) this.#facts += facts.length;
          if (isFirst) this.#foreign += records.length - facts.length;
          this.progress.advance(records.length);
          return Promise.resolve();
        };
        await streamPartitions(this.installation.connection, [stretch], add, { unreadable: 'given' });
      } finally {
        this.progress.end();
      }
      await this.#compare(audit.deliveries());
    }
  }

  async finish(): Promise<DeliveryVerdict> {
    const { sinceMs, from: fromSeq, orgId } = this.scope;
    const rows = await this.snapshot.rowsByEndpoint({ sinceMs, fromSeq, orgId }, this.progress);
    const present = await this.snapshot.present([...this.#expected.keys()]);
    for (const endpointId of new Set([...rows.keys(), ...present])) {
      const [stored, expected] = [rows.get(endpointId) ?? 0, this.#expected.get(endpointId) ?? 0];
      // Missing rows are already reported one by one.
      if (stored > expected) {
        this.differences.add({ kind: 'delivery_count', endpoint_id: endpointId, rows: stored, expected });
      }
    }
    return { facts: this.#facts, foreign: this.#foreign, compared: this.#compared };
  }

  async #compare(deliveries: Iterable<AuditedDelivery>): Promise<void> {
    let page: AuditedDelivery[] = [];
    for (const delivery of deliveries) {
      if (!this.#isAskedFor(delivery)) continue;
      const { endpointId } = delivery.ref;
      this.#expected.set(endpointId, (this.#expected.get(endpointId) ?? 0) + 1);
      page.push(delivery);
      if (page.length < DELIVERIES_AT_ONCE) continue;
      await this.#comparePage(page);
      page = [];
    }
    if (page.length > 0) await this.#comparePage(page);
  }

  #isAskedFor({ ref }: AuditedDelivery): boolean {
    const { orgId, from, sinceMs } = this.scope;
    return (orgId === null || ref.orgId === orgId) && ref.seq >= from && ref.createdAtMs >= sinceMs;
  }

  async #comparePage(page: readonly AuditedDelivery[]): Promise<void> {
    this.#compared += page.length;
    for (const { delivery, columns } of await this.snapshot.mismatches(page)) {
      const { deliveryId, orgId, seq, createdAtMs } = delivery.ref;
      if (createdAtMs < this.scope.sinceMs) continue;
      this.differences.add({ kind: 'delivery', delivery_id: deliveryId, org_id: orgId, seq, columns });
    }
  }
}

/** Returns the share that a delivery belongs to. Ids end like a hash, so the shares are even. */
function shareOf(id: DeliveryId, shares: number): number {
  return Number.parseInt(id.slice(-4), 36) % shares;
}
