import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  deliveryIdOf,
  type DeliveryFact,
  type DeliveryRef,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { DeliveryProjection } from '../projections/delivery-projection.js';
import { aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { DeliveryLog } from './delivery-log.js';
import { PreviousSeqs } from './previous-seqs.js';

const CREATED_AT_MS = Date.UTC(2026, 5, 1, 12);

let store: Store;
let drop: () => Promise<void>;
let projection: DeliveryProjection;
let orgId: OrgId;
let endpointId: EndpointId;
let topic: string;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(() => drop());

beforeEach(async () => {
  projection = new DeliveryProjection(store, 3);
  orgId = anOrgId();
  endpointId = await anEndpoint(store, orgId);
  topic = `deliveries-${randomBytes(4).toString('hex')}`;
});

function aDelivery(nth: number): DeliveryRef {
  const eventId = `evt_${String(nth).padStart(26, '0')}` as EventId;
  return {
    deliveryId: deliveryIdOf(eventId, endpointId),
    endpointId,
    orgId,
    eventId,
    event: 'ticket.created',
    seq: nth as Seq,
    createdAtMs: CREATED_AT_MS + nth,
  };
}

function scheduled(nth: number): DeliveryFact {
  return { type: 'scheduled', delivery: aDelivery(nth) };
}

async function apply(firstOffset: number, facts: readonly DeliveryFact[]): Promise<void> {
  const stretch = { projection: 'deliveries', topic, partition: 0, firstOffset };
  await projection.apply(
    { ...stretch, nextOffset: firstOffset + facts.length },
    facts.map((fact, index) => ({ offset: firstOffset + index, fact })),
  );
}

describe('a delivery in a chain', () => {
  const chained = (nth: number, previousSeq: number | null): DeliveryFact => ({
    type: 'scheduled',
    delivery: { ...aDelivery(nth), previousSeq },
  });
  const stored = async () => {
    const sql = 'select seq::int, previous_seq::int as previous from deliveries where endpoint_id = $1 order by seq';
    return (await store.query<{ seq: number; previous: number | null }>(sql, [endpointId])).map((row) => [
      row.seq,
      row.previous,
    ]);
  };

  it('names the event before it, as the first fact says that names one', async () => {
    await apply(0, [scheduled(1), chained(1, 0), chained(2, 1), chained(2, 0), scheduled(3)]);
    await apply(5, [chained(2, 0), scheduled(2), chained(3, 2), scheduled(4)]);
    expect(await stored()).toEqual([
      [1, 0],
      [2, 1],
      [3, 2],
      [4, null],
    ]);
    const shown = await new DeliveryLog(store).find(orgId, endpointId, aDelivery(3).deliveryId);
    expect(shown).toMatchObject({ previousSeq: 2 });
  });

  it('is found as the one before a later event, by seq, among those of its time', async () => {
    await apply(0, [chained(2, 0), chained(5, -1), scheduled(6), chained(8, 5)]);
    const find = (seq: number, withinMs = 1_000) => {
      const event = { endpointId, seq: seq as Seq, createdAtMs: CREATED_AT_MS + seq, partition: 0 };
      return new PreviousSeqs(store).find([event, { ...event, partition: 1 }], withinMs, topic);
    };
    // What was sent later from the feed is in no chain.
    expect(await find(8)).toEqual([
      { previousSeq: 5, projectedTo: 4 },
      { previousSeq: 5, projectedTo: 0 },
    ]);
    expect((await find(5))[0]?.previousSeq).toBe(2);
    expect((await find(2))[0]?.previousSeq).toBeNull();
    expect((await find(7, 1))[0]?.previousSeq).toBeNull();
  });
});
