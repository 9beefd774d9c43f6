import { beforeEach, describe, expect, it } from '@jest/globals';
import { NO_ORDERING, type DueAttempt, type EndpointId, type OrgId } from '#libs/domain';
import type { OrderedDelivery, OverdueAttempt, PacedEndpoint, Suspects } from '#libs/postgres';
import { collectGarbage } from '../../../../test/support/collect-garbage.js';
import { aDueAttempt, anEndpointId } from '../../../../test/support/due-attempts.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import type { OrderedResult } from '../attempts/attempt-maker.js';
import type { Flight } from '../lanes/lane.js';
import { OVERDUE_MS } from '../reconciling/reconciler.js';
import type { OrderStarts } from './ordered/order-start.js';
import { PacedPump } from './paced-pump.js';

interface Made {
  readonly due: DueAttempt;
  readonly flight: Flight;
  /** Lets the endpoint answer, and the outcome be projected. */
  readonly end: () => void;
}

const STATEMENT_TIMEOUT = 'canceling statement due to statement timeout';
const endpointId = anEndpointId();
let nowMs: number;
let generation: number | undefined;
let ready: ReadonlyMap<number, number>;
/** Partitions that are left whenever the pump offers them. */
let left: number[];
let listed: PacedEndpoint[];
/** The attempts that look due. */
let waiting: DueAttempt[];
let made: Made[];
/** How many attempts were read of each endpoint at most. */
let mostRead: Map<EndpointId, number>;
let pump: PacedPump;
/** How long it takes until a look for what is out of order fails; 0 if it does not. */
let slowMs: number;
let slowLooks: number;
/** The endpoint at which looks fail after 10 s. */
let failing: EndpointId | undefined;
let failure: string;
let failedLooks: number;
/** Finds what is out of order, in place of all that looks due. */
let outOfOrder: (() => Promise<readonly OverdueAttempt[]>) | undefined;
/** How long a look takes. */
let lookTakesMs: number;
/** How many looks there are at the same time, now and at most. */
let looking: number;
let mostLooking: number;
/** Returns an attempt that is still due, with its bytes. */
let readDue: (due: DueAttempt) => DueAttempt;
/** The endpoint that cannot be read. */
let unreadable: EndpointId | undefined;
let leftUnmade: number;
/** Whether the endpoint is found without limits, and when attempts of it are passed on. */
let isUnlimited: boolean;
let passOn: () => Promise<void>;
let passedOn: number[];
/** Finds out which orders begin. */
let advance: () => Promise<void>;
/** Reads what waits for its turn. */
let firstInOrder: () => Promise<OrderedDelivery[][]>;
/** The bytes of each that waits for its turn. */
let bytesInOrder: Buffer;
/** Ends the writing of the outcomes. */
let appended: Promise<void>;
/** The attempts that wait for their turn, which last until their end is called. */
let madeInOrder: { readonly seq: number; readonly flight: Flight; readonly end: (result: OrderedResult) => void }[];

const limits = (change: Partial<PacedEndpoint>): PacedEndpoint => ({
  id: endpointId,
  orgId: waiting[0]!.delivery.orgId,
  maxPerSecond: null,
  maxInFlight: null,
  ordering: NO_ORDERING,
  orderedSinceMs: null,
  isOrderBegun: false,
  ...change,
});

function overdueOf({ delivery, run, attempt }: DueAttempt): OverdueAttempt {
  const { deliveryId, createdAtMs } = delivery;
  const createdAt = new Date(createdAtMs);
  const isUrgent = delivery.isUrgent === true;
  return { deliveryId, endpointId: delivery.endpointId, createdAt, run, attempts: attempt - 1, isUrgent };
}

function urgent(seq: number): DueAttempt {
  const due = aDueAttempt(seq, endpointId);
  return { ...due, delivery: { ...due.delivery, isUrgent: true } };
}

function suspects(
  ids: readonly EndpointId[],
  perEndpoint: number,
  which: Suspects | undefined,
): Promise<readonly OverdueAttempt[]> {
  if (which === 'out_of_order' && slowMs > 0) {
    slowLooks++;
    nowMs += slowMs;
    return Promise.reject(new Error(STATEMENT_TIMEOUT));
  }
  if (failing !== undefined && ids.includes(failing)) {
    failedLooks++;
    nowMs += 10_000;
    return Promise.reject(new Error(failure));
  }
  if (which === 'out_of_order' && outOfOrder !== undefined) return outOfOrder();
  nowMs += lookTakesMs;
  for (const id of ids) mostRead.set(id, Math.max(perEndpoint, mostRead.get(id) ?? 0));
  return Promise.resolve(
    ids.flatMap((id) =>
      waiting
        .filter(({ delivery }) => delivery.endpointId === id)
        .map(overdueOf)
        .filter(({ isUrgent }) => isUrgent === (which === 'urgent'))
        .slice(0, perEndpoint),
    ),
  );
}

beforeEach(() => {
  nowMs = 0;
  [slowMs, slowLooks] = [0, 0];
  [failing, failure, failedLooks] = [undefined, STATEMENT_TIMEOUT, 0];
  [looking, mostLooking, lookTakesMs] = [0, 0, 0];
  [unreadable, leftUnmade] = [undefined, 0];
  [isUnlimited, passedOn] = [false, []];
  passOn = () => Promise.resolve();
  outOfOrder = undefined;
  readDue = (due) => due;
  advance = () => Promise.resolve();
  firstInOrder = () => Promise.resolve([]);
  madeInOrder = [];
  [bytesInOrder, appended] = [Buffer.alloc(0), Promise.resolve()];
  generation = 1;
  ready = new Map([[0, 0]]);
  left = [];
  waiting = Array.from({ length: 10 }, (_, nth) => aDueAttempt(nth + 1, endpointId));
  listed = [limits({ maxPerSecond: 2 })];
  made = [];
  mostRead = new Map();
  pump = new PacedPump({
    endpoints: { list: () => Promise.resolve(listed) },
    overdue: {
      suspects: async (ids: readonly EndpointId[], _before, perEndpoint, which) => {
        looking++;
        mostLooking = Math.max(mostLooking, looking);
        try {
          return await suspects(ids, perEndpoint, which);
        } finally {
          looking--;
        }
      },
      stillDue: (picked) =>
        Promise.resolve({
          due: picked.flatMap(({ deliveryId, createdAt }) => {
            const due = waiting.find(
              ({ delivery }) => delivery.deliveryId === deliveryId && delivery.createdAtMs === createdAt.getTime(),
            );
            return due === undefined ? [] : readDue(due);
          }),
          later: [],
        }),
    },
    ordered: {
      deliveries: {
        first: () => firstInOrder(),
        envelopes: (lists) => Promise.resolve(lists.map((list) => list.map(() => bytesInOrder))),
      },
      starts: {
        begin: ({ id }: PacedEndpoint, isReady: boolean) => ({ endpointId: id, isReady }),
        advance: () => advance(),
      } as unknown as OrderStarts,
      look: () => Promise.resolve({ kind: 'gone' }),
      prepare: () => undefined,
      make: ({ delivery }, _found, flight, _onSent, onResult) =>
        new Promise((resolve) => {
          const end = (result: OrderedResult) => {
            flight.answered();
            onResult(result);
            void appended.then(resolve);
          };
          madeInOrder.push({ seq: delivery.seq, flight, end });
        }),
    },
    partitions: {
      ready: () => Promise.resolve(ready),
      keep: () => Promise.resolve(),
      leave: (isBusy) => {
        left = [0, 1].filter((partition) => !isBusy(partition));
        return Promise.resolve();
      },
    },
    partitionOf: () => 0,
    make: async (due, flight, { onSent, onUnreadable, onLeft }) => {
      if (isUnlimited) {
        passedOn.push(due.delivery.seq);
        await passOn();
        onLeft();
        return;
      }
      if (due.delivery.endpointId === unreadable) {
        leftUnmade++;
        onUnreadable();
        return;
      }
      flight.posting();
      onSent();
      await new Promise<void>((resolve) => {
        const end = () => {
          flight.answered();
          waiting = waiting.filter((one) => one !== due);
          resolve();
        };
        made.push({ due, flight, end });
      });
      await appended;
    },
    generation: () => generation,
    attemptMs: 10_000,
    clockMs: () => aDueAttempt().dueAtMs + nowMs,
    nowMs: () => nowMs,
    logger: aStageKit({ nowMs: 0 }).logger,
  });
});

async function roundAt(atMs: number): Promise<readonly number[]> {
  nowMs = atMs;
  const before = made.length;
  await pump.round();
  await pump.roundOfSuspects();
  await pump.roundOfFull();
  return made.slice(before).map(({ due }) => due.delivery.seq);
}

/** Lets what was begun go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

async function endAll(): Promise<void> {
  for (const { end } of made) end();
  await settle();
}

describe('a paced endpoint', () => {
  it('gets as many as its limit within a second, longest overdue first', async () => {
    expect(await roundAt(0)).toEqual([1, 2]);
    nowMs = 50;
    await endAll();
    expect(await roundAt(1_000)).toEqual([]);
    expect(await roundAt(1_100)).toEqual([3, 4]);
  });

  it('gets none twice while its outcome is not projected', async () => {
    listed = [limits({ maxInFlight: 3 })];
    expect(await roundAt(0)).toEqual([1, 2, 3]);
    const stored = waiting;
    await endAll();
    waiting = stored;
    expect(await roundAt(300)).toEqual([4, 5, 6]);
    await endAll();
    waiting = stored;
    expect(await roundAt(600)).toEqual([7, 8, 9]);
  });

  it('gets both deliveries with the same id, of an event that is twice in the log', async () => {
    listed = [limits({ maxInFlight: 1 })];
    const [due] = waiting;
    const { delivery } = due!;
    waiting = [due!, { ...due!, delivery: { ...delivery, createdAtMs: delivery.createdAtMs + 1 } }];
    for (const atMs of [0, 300]) {
      await roundAt(atMs);
      await endAll();
    }
    expect(made.map(({ due: { delivery: sent } }) => sent.createdAtMs - delivery.createdAtMs)).toEqual([0, 1]);
  });

  it('gets its attempts while statements about ordered endpoints fail', async () => {
    listed.push({ ...limits({ orderedSinceMs: 0, isOrderBegun: true }), id: anEndpointId(2) });
    firstInOrder = () => Promise.reject(new Error(STATEMENT_TIMEOUT));
    await expect(pump.round()).rejects.toThrow('statement timeout');
    expect(made.map(({ due }) => due.delivery.seq)).toEqual([1, 2]);
  });

  it('does not wait until it is found out whether the orders of others begin', async () => {
    listed = [limits({ maxInFlight: 1 }), { ...limits({ orderedSinceMs: 0 }), id: anEndpointId(2) }];
    advance = () => new Promise(() => undefined);
    expect(await roundAt(0)).toEqual([1]);
    await endAll();
    expect(await roundAt(300)).toEqual([2]);
  });

  it('is asked more rarely for what is out of order if that takes long and fails', async () => {
    listed = [limits({ orderedSinceMs: 0 })];
    await pump.round();
    slowMs = 10_000;
    for (let look = 0; look < 2; look++) await expect(pump.roundOutOfOrder()).rejects.toThrow('statement timeout');
    nowMs += 4_900;
    await pump.roundOutOfOrder();
    expect(slowLooks).toBe(2);
    nowMs += 100;
    await expect(pump.roundOutOfOrder()).rejects.toThrow('statement timeout');
  });

  it('is asked more rarely for what is out of order if that takes long, but not because others are read', async () => {
    const other = anEndpointId(2);
    const ordered = limits({ orderedSinceMs: 0, isOrderBegun: true });
    listed = [ordered, { ...ordered, id: other }];
    readDue = (due) => {
      nowMs += 5_000;
      return due;
    };
    await pump.round();
    await pump.roundOutOfOrder();
    expect(made).toHaveLength(10);
    await pump.roundOutOfOrder();
    mostRead.clear();
    lookTakesMs = 100;
    nowMs += 200;
    await pump.roundOutOfOrder();
    expect(mostRead.has(other)).toBe(true);
    mostRead.clear();
    nowMs += 1_900;
    await pump.roundOutOfOrder();
    expect(mostRead.has(other)).toBe(false);
    nowMs += 100;
    await pump.roundOutOfOrder();
    expect(mostRead.has(other)).toBe(true);
  });

  it('goes on after any number of attempts', async () => {
    listed = [limits({ maxInFlight: 100 })];
    waiting = Array.from({ length: 2_100 }, (_, nth) => aDueAttempt(nth + 1, endpointId));
    for (let round = 0; round < 21; round++) {
      await roundAt(round * 300);
      await endAll();
    }
    expect(made).toHaveLength(2_100);
  });

  it('waits for the projection with too many attempts that are not projected, and goes on after it', async () => {
    listed = [limits({ maxInFlight: 100 })];
    waiting = Array.from({ length: 3_000 }, (_, nth) => aDueAttempt(nth + 1, endpointId));
    const stored = waiting;
    for (let round = 0; round < 20; round++) {
      await roundAt(round * 300);
      await endAll();
      waiting = stored;
    }
    expect(made).toHaveLength(2_000);
    expect(await roundAt(6_000)).toEqual([]);
    // It is not looked at all the time.
    mostRead.clear();
    expect(await roundAt(6_100)).toEqual([]);
    expect(mostRead.size).toBe(0);
    waiting = stored.slice(2_000);
    expect(await roundAt(6_300)).toHaveLength(100);
  });

  describe('with outcomes that Kafka does not take', () => {
    const envelope = Buffer.alloc(1024 * 1024);

    it('gets few bytes, and more once Kafka takes them', async () => {
      waiting = oneTo(20).map((seq) => aDueAttempt(seq, endpointId, { envelope }));
      let append: () => void = () => undefined;
      appended = new Promise((resolve) => (append = resolve));
      listed = [limits({ maxInFlight: 1 })];
      for (let round = 0; round < 20; round++) {
        await roundAt(round * 300);
        await endAll();
      }
      expect(made).toHaveLength(8);
      append();
      await settle();
      expect(await roundAt(6_000)).toEqual([9]);
    });

    it('gets few bytes in order, and more once Kafka takes them', async () => {
      const rows = oneTo(20).map((seq) => {
        const { delivery } = aDueAttempt(seq, endpointId);
        return { delivery: { ...delivery, lane: 0 }, attempts: 0, dueAtMs: 0 };
      });
      firstInOrder = () => Promise.resolve([rows]);
      bytesInOrder = envelope;
      waiting = [aDueAttempt(90, endpointId)];
      let append: () => void = () => undefined;
      appended = new Promise((resolve) => (append = resolve));
      const ordering = { by: 'endpoint', batch: 1 } as const;
      listed = [limits({ orderedSinceMs: 0, isOrderBegun: true, ordering })];
      for (let round = 0; round < 20; round++) {
        await roundAt(round * 40);
        await settle();
        madeInOrder.at(-1)!.end({ kind: 'done', deliveries: 1 });
        await settle();
      }
      expect(madeInOrder.map(({ seq }) => seq)).toEqual(oneTo(8));
      append();
      await settle();
      await roundAt(900);
      await settle();
      expect(madeInOrder.at(-1)!.seq).toBe(9);
    });
  });

  describe('that waits for the projection', () => {
    const other = anEndpointId(2);
    const isLookedAt = async () => {
      mostRead.clear();
      await pump.roundOfFull();
      return mostRead.has(endpointId);
    };

    beforeEach(async () => {
      listed = [limits({ maxInFlight: 100 })];
      waiting = Array.from({ length: 2_000 }, (_, nth) => aDueAttempt(nth + 1, endpointId));
      const stored = waiting;
      for (let round = 0; round < 20; round++) {
        await roundAt(round * 300);
        await endAll();
        waiting = stored;
      }
      listed.push({ ...limits({ maxInFlight: 1 }), id: other });
      waiting = [...stored, aDueAttempt(9_001, other)];
      nowMs = 8_000;
      mostRead.clear();
    });

    it('is no reason for others to wait', async () => {
      await pump.round();
      await pump.roundOfSuspects();
      expect([...mostRead.keys()]).toEqual([other]);
    });

    it('is left alone for longer, the longer a look at it takes, but not for long', async () => {
      await pump.round();
      for (const [takesMs, restMs] of [
        [50, 2_000],
        [5_000, 5_000],
      ] as const) {
        // Each look has two statements.
        lookTakesMs = takesMs;
        expect(await isLookedAt()).toBe(true);
        nowMs += restMs - 100;
        expect(await isLookedAt()).toBe(false);
        nowMs += 100;
      }
      expect(await isLookedAt()).toBe(true);
    });

    it('is looked at again soon while looks at another one fail', async () => {
      failing = other;
      await expect(pump.round()).rejects.toThrow(STATEMENT_TIMEOUT);
      await expect(pump.roundOfSuspects()).rejects.toThrow(STATEMENT_TIMEOUT);
      expect(failedLooks).toBe(2);
      for (let nth = 0; nth < 3; nth++) {
        expect(await isLookedAt()).toBe(true);
        nowMs += 200;
      }
    });
  });

  it('gets urgent ones first, but not them alone', async () => {
    listed = [limits({ maxInFlight: 2 })];
    waiting.push(...[90, 91, 92, 93].map(urgent));
    const rounds: (readonly number[])[] = [];
    for (const atMs of [0, 300, 600, 900]) {
      rounds.push(await roundAt(atMs));
      await endAll();
    }
    expect(rounds).toEqual([
      [90, 91],
      [92, 1],
      [93, 2],
      [3, 4],
    ]);
  });

  it('gets as many urgent ones as there is room for if no others wait', async () => {
    listed = [limits({ maxInFlight: 5 })];
    waiting = [90, 91, 92, 93, 94].map(urgent);
    expect(await roundAt(0)).toEqual([90, 91, 92, 93, 94]);
  });

  it('has at most its limit in flight', async () => {
    listed = [limits({ maxInFlight: 2 })];
    expect(await roundAt(0)).toEqual([1, 2]);
    expect(await roundAt(5_000)).toEqual([]);
    made[0]!.end();
    await settle();
    expect(await roundAt(5_100)).toEqual([3]);
  });

  it('gets nothing from a process that does not own its partition, or not yet', async () => {
    ready = new Map();
    expect(await roundAt(0)).toEqual([]);
    ready = new Map([[0, 0]]);
    generation = undefined;
    expect(await roundAt(300)).toEqual([]);
    generation = 1;
    expect(await roundAt(600)).toEqual([1, 2]);
    // An attempt that is not sent yet is withdrawn as soon as the assignment changes.
    expect(made[0]!.flight.isWithdrawn).toBe(false);
    generation = 2;
    expect(made[0]!.flight.isWithdrawn).toBe(true);
  });

  it('gets an attempt that an assignment withdrew in the next one', async () => {
    listed = [limits({ maxInFlight: 1 })];
    expect(await roundAt(0)).toEqual([1]);
    generation = 2;
    const stored = waiting;
    await endAll();
    // It was withdrawn before it was sent, so its delivery still waits.
    waiting = stored;
    expect(await roundAt(300)).toEqual([1]);
  });

  it('that cannot be read holds no place, and is looked up again every 5 s', async () => {
    listed = [limits({ maxInFlight: 5 })];
    unreadable = endpointId;
    await roundAt(0);
    await endAll();
    expect([pump.held, pump.inFlight, leftUnmade]).toEqual([0, 0, 5]);
    await roundAt(4_900);
    expect(leftUnmade).toBe(5);
    expect(left).toEqual([0, 1]);
    // One finds out that it is still so.
    await roundAt(5_000);
    await endAll();
    expect(leftUnmade).toBe(6);
    unreadable = undefined;
    expect(await roundAt(10_000)).toEqual([1]);
    await endAll();
    expect(await roundAt(10_300)).toEqual([2, 3, 4, 5, 6]);
  });

  it('that was without limits for a moment gets what was passed on meanwhile', async () => {
    listed = [limits({ maxInFlight: 2 })];
    isUnlimited = true;
    await roundAt(0);
    await settle();
    isUnlimited = false;
    expect(passedOn).toEqual([1, 2]);
    // It may have been passed on since this list was asked for.
    expect(await roundAt(500)).toEqual([3, 4]);
    await endAll();
    expect(await roundAt(1_000)).toEqual([1, 2]);
  });

  it('that was without limits for a moment gets what is passed on late', async () => {
    listed = [limits({ maxInFlight: 1 })];
    isUnlimited = true;
    let goOn: () => void = () => undefined;
    passOn = () => new Promise((resolve) => (goOn = resolve));
    await roundAt(0);
    isUnlimited = false;
    listed = [];
    await roundAt(1_000);
    await endAll();
    listed = [limits({ maxInFlight: 1 })];
    await roundAt(2_000);
    await endAll();
    goOn();
    await settle();
    await roundAt(2_500);
    await endAll();
    expect(made.some(({ due }) => due.delivery.seq === 1)).toBe(false);
    expect(await roundAt(3_500)).toEqual([1]);
  });

  describe('whose limits are removed', () => {
    beforeEach(async () => {
      await roundAt(0);
      listed = [];
      await endAll();
    });

    it('gets what still waits, which is passed on at once', async () => {
      expect(await roundAt(1_000)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    });

    it('also gets what was owed to it before, and is projected later', async () => {
      waiting = [];
      await roundAt(1_000);
      await roundAt(2_500);
      waiting = [aDueAttempt(90, endpointId)];
      expect(await roundAt(4_000)).toEqual([90]);
    });

    it('gets nothing here that came later', async () => {
      waiting = [];
      await roundAt(1_000);
      const due = aDueAttempt(90, endpointId);
      waiting = [{ ...due, delivery: { ...due.delivery, createdAtMs: due.delivery.createdAtMs + 1_001 } }];
      expect(await roundAt(4_000)).toEqual([]);
    });

    it('gets what looks due for long, also if it came later by the clock of the brokers', async () => {
      waiting = [];
      await roundAt(1_000);
      const due = aDueAttempt(90, endpointId);
      waiting = [{ ...due, delivery: { ...due.delivery, createdAtMs: due.delivery.createdAtMs + 3_000 } }];
      expect(await roundAt(4_000)).toEqual([]);
      expect(await roundAt(15_249)).toEqual([]);
      expect(await roundAt(15_449)).toEqual([90]);
      const stored = waiting;
      await endAll();
      waiting = stored;
      expect(await roundAt(16_000)).toEqual([]);
    });

    it('is left to the reconciler in the end', async () => {
      waiting = [];
      await roundAt(1_000);
      await roundAt(1_000 + OVERDUE_MS);
      waiting = [aDueAttempt(90, endpointId)];
      expect(await roundAt(2_000 + OVERDUE_MS)).toEqual([]);
    });

    it('is forgotten in the end if its partition belongs to another process', async () => {
      ready = new Map();
      waiting = [];
      await roundAt(1_000);
      await roundAt(2_000 + OVERDUE_MS);
      ready = new Map([[0, 0]]);
      waiting = [aDueAttempt(90, endpointId)];
      expect(await roundAt(2_100 + OVERDUE_MS)).toEqual([]);
    });

    it('is paced again with limits again', async () => {
      waiting = [];
      await roundAt(1_000);
      waiting = [90, 91, 92].map((seq) => aDueAttempt(seq, endpointId));
      listed = [limits({ maxPerSecond: 2 })];
      expect(await roundAt(4_000)).toEqual([90, 91]);
    });
  });

  it('gets one out of order after seven in order, if they take every place', async () => {
    const rows = oneTo(40).map((seq) => {
      const { delivery } = aDueAttempt(seq, endpointId);
      return { delivery: { ...delivery, lane: 0 }, attempts: 0, dueAtMs: 0 };
    });
    firstInOrder = () => Promise.resolve([rows]);
    waiting = [90, 91].map((seq) => aDueAttempt(seq, endpointId));
    const ordering = { by: 'endpoint', batch: 1 } as const;
    listed = [limits({ maxInFlight: 1, orderedSinceMs: 0, isOrderBegun: true, ordering })];
    await roundAt(0);
    await pump.roundOutOfOrder();
    await settle();
    // Both come from the same look.
    for (const replays of [1, 2]) {
      for (let nth = 0; nth < 7; nth++) {
        expect(made).toHaveLength(replays - 1);
        madeInOrder.at(-1)!.end({ kind: 'done', deliveries: 1 });
        await settle();
      }
      expect(made.map(({ due }) => due.delivery.seq)).toEqual([90, 91].slice(0, replays));
      expect(madeInOrder).toHaveLength(replays * 7);
      await endAll();
      await roundAt(replays * 300);
      await settle();
      expect(madeInOrder).toHaveLength(replays * 7 + 1);
    }
  });

  it('keeps few out of order with their bytes, also if it had room for many when they were found', async () => {
    const ids = oneTo(9).map((nth) => anEndpointId(nth));
    listed = ids.map((id) => ({ ...limits({ orderedSinceMs: 0, isOrderBegun: true }), id }));
    waiting = ids.flatMap((id, nth) => oneTo(64).map((seq) => aDueAttempt(nth * 64 + seq, id)));
    const read: WeakRef<DueAttempt>[] = [];
    readDue = (due) => {
      const copy = { ...due };
      read.push(new WeakRef(copy));
      return copy;
    };
    await roundAt(0);
    await pump.roundOutOfOrder();
    // The pump was crowded before the last two had all places.
    expect(made).toHaveLength(504);
    await collectGarbage();
    const begun = new Set(made.map(({ due }) => due));
    const kept = read.map((due) => due.deref()).filter((due) => due !== undefined && !begun.has(due));
    expect(kept).toHaveLength(8);
  });

  describe('whose order is removed', () => {
    beforeEach(async () => {
      const rows = waiting.map(({ delivery }) => ({ delivery: { ...delivery, lane: 0 }, attempts: 0, dueAtMs: 0 }));
      firstInOrder = () => Promise.resolve([rows]);
      const ordering = { by: 'endpoint', batch: 1 } as const;
      listed = [limits({ orderedSinceMs: 0, isOrderBegun: true, ordering })];
      await roundAt(0);
      await settle();
      madeInOrder[0]!.end({ kind: 'done', deliveries: 1 });
      await settle();
      expect(madeInOrder.map(({ seq }) => seq)).toEqual([1, 2]);
      listed = [limits({ maxInFlight: 10 })];
    });

    it('withdraws what is under way, in case it is not sent yet', async () => {
      expect(madeInOrder[1]!.flight.isWithdrawn).toBe(false);
      await roundAt(1_000);
      expect(madeInOrder[1]!.flight.isWithdrawn).toBe(true);
    });

    it('gets the others, and not again what is done or under way', async () => {
      expect(await roundAt(1_000)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
      madeInOrder[1]!.end({ kind: 'done', deliveries: 1 });
      await settle();
      expect(await roundAt(1_300)).toEqual([]);
    });

    it('gets none of them again because of a look that had begun before', async () => {
      let release: () => void = () => undefined;
      outOfOrder = () =>
        new Promise((resolve) => {
          release = () => {
            resolve([]);
          };
        });
      const look = pump.roundOutOfOrder();
      await settle();
      expect(await roundAt(1_000)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
      madeInOrder[1]!.end({ kind: 'done', deliveries: 1 });
      release();
      await look;
      expect(await roundAt(1_300)).toEqual([]);
    });

    it('gets what was under way and was not made', async () => {
      await roundAt(1_000);
      madeInOrder[1]!.end({ kind: 'left' });
      await settle();
      expect(await roundAt(1_300)).toEqual([2]);
    });

    it('has the others passed on if it has no limit then', async () => {
      listed = [];
      expect(await roundAt(1_000)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    });
  });

  it('waits for the attempts of an earlier owner if it has a limit per second', async () => {
    ready = new Map([[0, 1_000]]);
    expect(await roundAt(0)).toEqual([]);
    listed = [limits({ maxInFlight: 1 })];
    expect(await roundAt(1_000)).toEqual([1]);
  });

  it('leaves its partition when its attempts are over, also at the end', async () => {
    await roundAt(0);
    await roundAt(50);
    expect(left).toEqual([1]);
    const drained = pump.drain(60_000);
    await endAll();
    await drained;
    expect(left).toEqual([0, 1]);
    expect(await roundAt(2_000)).toEqual([]);
  });

  it('has no more attempts read than it needs, however many another one needs', async () => {
    const other = anEndpointId(2);
    listed = [limits({ maxPerSecond: 1 }), { ...limits({ maxPerSecond: 1_000, maxInFlight: 1_000 }), id: other }];
    waiting.push(...Array.from({ length: 500 }, (_, nth) => aDueAttempt(nth + 50, other)));
    for (const atMs of [0, 300, 600, 900]) await roundAt(atMs);
    expect(made.filter(({ due }) => due.delivery.endpointId === other)).toHaveLength(400);
    expect(mostRead.get(endpointId)).toBeLessThanOrEqual(4);
  });

  it('does not block another one', async () => {
    const other = anEndpointId(2);
    listed = [limits({ maxPerSecond: 1 }), { ...limits({ maxPerSecond: 5 }), id: other }];
    waiting.push(...Array.from({ length: 3 }, (_, nth) => aDueAttempt(nth + 50, other)));
    expect(await roundAt(0)).toEqual([1, 50, 51, 52]);
  });

  describe('with 1,000 in flight that hang', () => {
    const other = anEndpointId(2);

    beforeEach(async () => {
      listed = [limits({ maxInFlight: 1_000 })];
      waiting = oneTo(1_100).map((seq) => aDueAttempt(seq, endpointId));
      for (let round = 0; round < 11; round++) await roundAt(round * 50);
      expect(pump.inFlight).toBe(1_000);
      waiting.push(...oneTo(100).map((nth) => aDueAttempt(nth + 2_000, other)));
    });

    it('leaves few places to another one of its organization', async () => {
      listed.push({ ...limits({ maxInFlight: 1_000 }), id: other });
      expect(await roundAt(1_500)).toEqual([2_001, 2_002, 2_003, 2_004]);
    });

    it('leaves every place to one of another organization', async () => {
      const orgId = '018f0000-0000-7000-8000-000000000002' as OrgId;
      listed.push({ ...limits({ maxPerSecond: 1_000 }), id: other, orgId });
      expect(await roundAt(1_500)).toHaveLength(64);
    });
  });

  it('does not stop another one by a look that fails', async () => {
    const other = anEndpointId(2);
    listed = [limits({ maxPerSecond: 2 }), { ...limits({ maxPerSecond: 2 }), id: other }];
    waiting.push(...Array.from({ length: 3 }, (_, nth) => aDueAttempt(nth + 50, other)));
    failing = endpointId;
    await expect(roundAt(0)).rejects.toThrow('statement timeout');
    expect(await roundAt(11_000)).toEqual([50, 51]);
    const before = failedLooks;
    await endAll();
    expect(await roundAt(23_000)).toEqual([52]);
    expect(failedLooks).toBe(before);
    failing = undefined;
    expect(await roundAt(82_000)).toEqual([1, 2]);
  });

  it('does not rest because a single look fails, also if it is read alone', async () => {
    const other = anEndpointId(2);
    listed = [limits({ maxInFlight: 1 }), { ...limits({ maxInFlight: 64 }), id: other }];
    waiting.push(aDueAttempt(50, other));
    failing = other;
    await pump.round();
    failing = undefined;
    expect(await roundAt(10_050)).toEqual([50]);
  });

  it('does not rest because there is no connection', async () => {
    const other = anEndpointId(2);
    listed = [limits({ maxInFlight: 1 }), { ...limits({ maxInFlight: 64 }), id: other }];
    waiting.push(aDueAttempt(50, other));
    [failing, failure] = [other, 'timeout exceeded when trying to connect'];
    for (const atMs of [0, 20_000, 40_000]) await roundAt(atMs).catch(() => undefined);
    expect(failedLooks).toBe(3);
    failing = undefined;
    expect(await roundAt(60_000)).toEqual([50]);
  });
});

describe('many paced endpoints', () => {
  const ids = oneTo(500).map((nth) => anEndpointId(nth));

  beforeEach(() => {
    waiting = ids.map((id, nth) => aDueAttempt(nth + 1, id));
    listed = ids.map((id) => ({ ...limits({ maxInFlight: 1 }), id }));
  });

  it('go on in the next round after a look that failed once, with few looks at the same time', async () => {
    failing = ids[77];
    await expect(roundAt(0)).rejects.toThrow(STATEMENT_TIMEOUT);
    failing = undefined;
    expect(await roundAt(11_000)).toHaveLength(500);
    expect(mostLooking).toBeLessThanOrEqual(4);
  });

  it('go on while looks at one of them fail, which is found by halves', async () => {
    failing = ids[77];
    for (let nth = 0; nth < 10; nth++) await roundAt(nth * 11_000).catch(() => undefined);
    expect(made).toHaveLength(499);
    expect(failedLooks).toBe(10);
    expect(mostLooking).toBeLessThanOrEqual(4);
    await roundAt(nowMs + 59_000);
    expect(failedLooks).toBe(10);
    failing = undefined;
    expect(await roundAt(nowMs + 2_000)).toEqual([78]);
  });
});
