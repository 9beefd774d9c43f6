import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import type { EndpointId, OrgId, Seq } from '#libs/domain';
import { knownValues, partitionOf, topicNames, type Positions } from '#libs/kafka-log';
import type { ChainedEvent } from '#libs/postgres';
import { Metrics } from '#libs/telemetry';
import { anEndpointId } from '../../../../test/support/due-attempts.js';
import { collectGarbage } from '../../../../test/support/collect-garbage.js';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import { EndpointChains, type ChainLink } from './endpoint-chains.js';

const ORG = '0f8fad5b-d9cb-469f-a165-70867728950e' as OrgId;
const DAY_MS = 86_400_000;
const PARTITIONS = 4;
const ENDPOINTS = [anEndpointId(1), anEndpointId(2), anEndpointId(3)];
const metrics = new Metrics();
const topics = topicNames('gapless', [10_000]);
const kit = aStageKit({ nowMs: 0, topics, metrics, config: { partitions: PARTITIONS, retentionMs: 30 * DAY_MS } });

/** A delivery log with the chains of endpoints. */
class Stored {
  readonly seqs = new Map<EndpointId, number[]>();
  projectedTo = Infinity;

  find(asked: readonly ChainedEvent[]) {
    return Promise.resolve(
      asked.map(({ endpointId, seq }) => ({
        previousSeq: this.seqs.get(endpointId)?.findLast((one) => one < seq) ?? null,
        projectedTo: this.projectedTo,
      })),
    );
  }

  add(endpointId: EndpointId, seq: number): void {
    this.seqs.set(
      endpointId,
      [...(this.seqs.get(endpointId) ?? []), seq].sort((one, other) => one - other),
    );
  }
}

function chainsOf(stored: Stored, factsEnd = 0, leaderless?: number): EndpointChains {
  const partitions = [...new Set(ENDPOINTS.map((id) => partitionOf(id, PARTITIONS)))];
  const factsEnds = knownValues(
    'deliveries',
    partitions.map((partition) => [partition, partition === leaderless ? undefined : factsEnd]),
  );
  const ends = () => Promise.resolve(factsEnds);
  return new EndpointChains({ previousSeqs: stored, positions: { ends }, kit });
}

/** Meets the events, each of which is for some endpoints. */
async function meet(
  chains: EndpointChains,
  events: readonly { readonly seq: number; readonly of: readonly EndpointId[]; readonly atMs?: number }[],
  isOver = () => false,
) {
  const links: (ChainLink & { readonly seq: number; readonly id: EndpointId })[] = [];
  for (const { seq, of, atMs = 0 } of events) {
    const event = { orgId: ORG, seq: seq as Seq, appendedAtMs: atMs };
    chains.meet(event, true);
    for (const id of of) {
      const link: (typeof links)[number] = { seq, id };
      links.push(link);
      chains.add(id, event, link);
    }
  }
  await chains.settle(isOver);
  return links;
}

describe('the chains of endpoints', () => {
  it('name the event before each one, whichever routers meet which part of the log, and late repeats of it', async () => {
    const histories = fc.record({
      of: fc.array(fc.subarray(ENDPOINTS), { minLength: 1, maxLength: 20 }),
      cuts: fc.array(fc.record({ at: fc.nat({ max: 20 }), repeated: fc.nat({ max: 20 }) }), { maxLength: 4 }),
      batch: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(histories, async ({ of, cuts, batch }) => {
        const stored = new Stored();
        let chains = chainsOf(stored);
        const begun = new Map(cuts.map(({ at, repeated }) => [at, repeated]));
        let next: { seq: number; of: readonly EndpointId[] }[] = [];
        for (const [nth, ids] of of.entries()) {
          const repeated = begun.get(nth);
          if (repeated !== undefined) {
            // Another router goes on. What it meets first may be a repeat.
            await expectChain(chains, next, of);
            for (const { seq, of: for_ } of next) for (const id of for_) stored.add(id, seq);
            for (const [before, earlier] of of.slice(0, nth).entries()) {
              for (const id of earlier) if (!stored.seqs.get(id)?.includes(before + 1)) stored.add(id, before + 1);
            }
            chains = chainsOf(stored);
            next = repeated < nth ? [{ seq: repeated + 1, of: of[repeated]! }] : [];
          }
          next.push({ seq: nth + 1, of: ids });
          if (next.length < batch) continue;
          await expectChain(chains, next, of);
          next = [];
        }
        await expectChain(chains, next, of);
      }),
    );
  });

  it('begin with the first event, and again when the one before is too old', async () => {
    const of = [ENDPOINTS[0]!];
    const links = await meet(chainsOf(new Stored()), [
      { seq: 1, of },
      { seq: 2, of, atMs: 29 * DAY_MS },
      { seq: 3, of, atMs: 58 * DAY_MS + 1 },
    ]);
    expect(links.map(({ previousSeq }) => previousSeq)).toEqual([0, 1, 0]);
  });

  it('wait for the projector, and are known then', async () => {
    const stored = new Stored();
    stored.projectedTo = 6;
    const settled = meet(chainsOf(stored, 7), [{ seq: 9, of: ENDPOINTS }]);
    setTimeout(() => {
      stored.add(ENDPOINTS[0]!, 5);
      stored.projectedTo = 7;
    }, 100);
    expect((await settled).map(({ previousSeq }) => previousSeq)).toEqual([5, 0, 0]);
  });

  it('are unknown for one event if the projector does not get there, and others do not wait again', async () => {
    jest.useFakeTimers();
    try {
      const stored = new Stored();
      stored.projectedTo = 6;
      const chains = chainsOf(stored, 7);
      const [one, other] = [ENDPOINTS.slice(0, 1), ENDPOINTS.slice(1, 2)];
      const first = meet(chains, [
        { seq: 9, of: one },
        { seq: 10, of: one },
      ]);
      await jest.advanceTimersByTimeAsync(2_100);
      expect((await first).map(({ previousSeq }) => previousSeq)).toEqual([-1, 9]);
      expect((await meet(chains, [{ seq: 11, of: other }])).map(({ previousSeq }) => previousSeq)).toEqual([-1]);
      expect((await metrics.scrape()).text).toMatch(/gapless_router_previous_unknown_total 2/);
      stored.projectedTo = 7;
      stored.add(ENDPOINTS[2]!, 3);
      const late = await meet(chains, [{ seq: 12, of: ENDPOINTS }]);
      expect(late.map(({ previousSeq }) => previousSeq)).toEqual([10, 11, 3]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('are unknown only where the partition of the deliveries has no leader', async () => {
    jest.useFakeTimers();
    try {
      const [, , last] = ENDPOINTS;
      const leaderless = partitionOf(last!, PARTITIONS);
      const expected = ENDPOINTS.map((id) => (partitionOf(id, PARTITIONS) === leaderless ? -1 : 0));
      expect(expected).toContain(0);
      const links = meet(chainsOf(new Stored(), 7, leaderless), [{ seq: 9, of: ENDPOINTS }]);
      await jest.advanceTimersByTimeAsync(2_100);
      expect((await links).map(({ previousSeq }) => previousSeq)).toEqual(expected);
    } finally {
      jest.useRealTimers();
    }
  });

  describe('while a partition of the deliveries has no leader', () => {
    const [one] = ENDPOINTS;
    const partition = partitionOf(one!, PARTITIONS);
    const ids = Array.from({ length: 20 }, (_, nth) => anEndpointId(nth + 10));
    const [alike, another] = ids.filter((id) => partitionOf(id, PARTITIONS) === partition) as [EndpointId, EndpointId];
    const apart = ids.find((id) => partitionOf(id, PARTITIONS) !== partition)!;
    const endsWithout = (apartEnd: number) =>
      knownValues('deliveries', [
        [partition, undefined],
        [partitionOf(apart, PARTITIONS), apartEnd],
      ]);
    const stored = new Stored();
    const ends = jest.fn<() => Promise<Positions>>();
    let chains: EndpointChains;

    beforeEach(() => {
      jest.useFakeTimers();
      ends.mockReset().mockResolvedValue(endsWithout(7));
      stored.projectedTo = 6;
      chains = new EndpointChains({ previousSeqs: stored, positions: { ends }, kit });
    });

    afterEach(() => {
      jest.useRealTimers();
    });

    it('ask for its end rarely, and are known once it has one', async () => {
      const first = meet(chains, [{ seq: 9, of: [one!] }]);
      await jest.advanceTimersByTimeAsync(2_100);
      expect((await first).map(({ previousSeq }) => previousSeq)).toEqual([-1]);
      ends.mockResolvedValue(new Map([[partition, 6]]));
      stored.add(alike, 5);
      const second = await meet(chains, [{ seq: 10, of: [another] }]);
      expect(second.map(({ previousSeq }) => previousSeq)).toEqual([-1]);
      expect(ends).toHaveBeenCalledTimes(2);
      await jest.advanceTimersByTimeAsync(1_000);
      const third = await meet(chains, [{ seq: 11, of: [alike] }]);
      expect(third.map(({ previousSeq }) => previousSeq)).toEqual([5]);
    });

    it('ask rarely, too, while Kafka does not answer', async () => {
      ends.mockRejectedValue(new Error('away'));
      const first = meet(chains, [{ seq: 9, of: [one!] }]);
      await jest.advanceTimersByTimeAsync(2_100);
      expect((await first).map(({ previousSeq }) => previousSeq)).toEqual([-1]);
      expect((await meet(chains, [{ seq: 10, of: [another] }])).map(({ previousSeq }) => previousSeq)).toEqual([-1]);
      expect(ends).toHaveBeenCalledTimes(2);
    });

    it('wait for the first known ends of the others, however far those grow', async () => {
      ends.mockResolvedValueOnce(endsWithout(7)).mockImplementation(() => {
        stored.projectedTo = 7;
        return Promise.resolve(endsWithout(100));
      });
      const links = meet(chains, [{ seq: 9, of: [one!, apart] }]);
      await jest.advanceTimersByTimeAsync(2_100);
      expect((await links).map(({ previousSeq }) => previousSeq)).toEqual([-1, 0]);
      expect(ends).toHaveBeenCalledTimes(2);
    });
  });

  it('keep nothing of an event but its place', async () => {
    const chains = chainsOf(new Stored());
    const of = [ENDPOINTS[0]!];
    const met = (seq: number) => {
      const event = { orgId: ORG, seq: seq as Seq, appendedAtMs: 0, envelope: Buffer.from('{}') };
      chains.meet(event, true);
      chains.add(ENDPOINTS[0]!, event, {});
      return new WeakRef(event);
    };
    const events = [met(1), met(2)];
    await chains.settle(() => false);
    await collectGarbage();
    expect(events.filter((event) => event.deref() !== undefined)).toEqual([]);
    expect((await meet(chains, [{ seq: 3, of }])).map(({ previousSeq }) => previousSeq)).toEqual([2]);
  });

  it('are looked up again when the database was away, and nothing is thrown', async () => {
    const stored = new Stored();
    stored.add(ENDPOINTS[0]!, 5);
    const find = jest.spyOn(stored, 'find').mockRejectedValueOnce(new Error('away'));
    const links = await meet(chainsOf(stored), [{ seq: 9, of: ENDPOINTS }]);
    expect(links.map(({ previousSeq }) => previousSeq)).toEqual([5, 0, 0]);
    expect(find).toHaveBeenCalledTimes(2);
  });

  it('wait no longer when nobody needs them', async () => {
    const stored = new Stored();
    stored.projectedTo = 6;
    let isOver = false;
    setTimeout(() => (isOver = true), 60);
    const links = await meet(chainsOf(stored, 7), [{ seq: 9, of: ENDPOINTS }], () => isOver);
    expect(links).toHaveLength(3);
  });
});

async function expectChain(
  chains: EndpointChains,
  events: readonly { readonly seq: number; readonly of: readonly EndpointId[] }[],
  of: readonly (readonly EndpointId[])[],
): Promise<void> {
  for (const { seq, id, previousSeq } of await meet(chains, events)) {
    const before = of.slice(0, seq - 1).findLastIndex((ids) => ids.includes(id)) + 1;
    expect([seq, previousSeq]).toEqual([seq, before]);
  }
}
