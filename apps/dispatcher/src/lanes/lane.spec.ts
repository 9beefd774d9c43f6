import { beforeEach, describe, expect, it } from '@jest/globals';
import { parseEndpointId, parseOrgId, type EndpointId, type OrgId } from '#libs/domain';
import { Lane, type Flight, type LaneLimits } from './lane.js';

const LIMITS: LaneLimits = {
  held: 10,
  keptForModest: 0,
  inFlightPerEndpoint: 2,
  heldPerOrg: 10,
  heldPerEndpoint: 5,
  heldPerSluggishEndpoint: 1,
  urgentPerEndpoint: 2,
  urgentPerSluggishEndpoint: 1,
  urgentPerOrg: 3,
};
const [A, B, C] = ['A', 'B', 'C'].map((letter) => parseEndpointId(`whe_${letter.repeat(26)}`)!) as [
  EndpointId,
  EndpointId,
  EndpointId,
];

/** One attempt that was offered. */
interface Attempt {
  state: 'waiting' | 'in flight' | 'done' | 'given up';
  end: () => void;
}

let nowMs: number;
let lane: Lane;

beforeEach(() => {
  nowMs = 0;
  lane = new Lane(LIMITS, () => nowMs);
});

const OWNER = {};
const ORG = parseOrgId('00000000-0000-4000-8000-000000000001')!;
const OTHER_ORG = parseOrgId('00000000-0000-4000-8000-000000000002')!;

function offer(
  endpointId: EndpointId,
  owner: object = OWNER,
  orgId: OrgId = ORG,
  isUrgent = false,
): Attempt & { readonly answer: string; readonly isUrgent: boolean } {
  const attempt: Attempt = { state: 'waiting', end: () => undefined };
  const answer = lane.offer(
    owner,
    { orgId, endpointId, isUrgent },
    (flight) => {
      attempt.state = 'in flight';
      flight.posting();
      return new Promise((resolve) => {
        attempt.end = () => {
          attempt.state = 'done';
          flight.answered();
          resolve();
        };
      });
    },
    () => {
      attempt.state = 'given up';
    },
  );
  return Object.assign(attempt, { answer, isUrgent });
}

function offerMany(endpointId: EndpointId, count: number) {
  return Array.from({ length: count }, () => offer(endpointId));
}

/** Lets everything that follows from what was just done happen. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function end(...attempts: readonly Attempt[]): Promise<void> {
  for (const attempt of attempts) attempt.end();
  await settled();
}

/** Makes the endpoint sluggish: an attempt that takes that long. */
async function answerAfter(endpointId: EndpointId, durationMs: number): Promise<void> {
  const slow = offer(endpointId);
  nowMs += durationMs;
  await end(slow);
}

describe('a lane', () => {
  it('has as many attempts of an endpoint in flight as it may, and the others wait in their order', async () => {
    const attempts = offerMany(A, 4);
    expect(attempts.map(({ state }) => state)).toEqual(['in flight', 'in flight', 'waiting', 'waiting']);
    await end(attempts[1]!);
    expect(attempts.map(({ state }) => state)).toEqual(['in flight', 'done', 'in flight', 'waiting']);
  });

  it('begins the next attempt when one ends that was never sent', async () => {
    const endings: (() => void)[] = [];
    const unsent = () => new Promise<void>((resolve) => endings.push(resolve));
    for (let n = 0; n < 2; n++) lane.offer(OWNER, { orgId: ORG, endpointId: A }, unsent, () => undefined);
    const next = offer(A);
    endings[0]!();
    await settled();
    expect(next.state).toBe('in flight');
  });

  it('begins the next attempt when one is answered, and holds that until Kafka has what came of it', async () => {
    const settling: (() => void)[] = [];
    const answers: (() => void)[] = [];
    const answered = () =>
      lane.offer(
        OWNER,
        { orgId: ORG, endpointId: A },
        async (flight) => {
          flight.posting();
          await new Promise<void>((resolve) => answers.push(resolve));
          flight.answered();
          await new Promise<void>((resolve) => settling.push(resolve));
        },
        () => undefined,
      );
    answered();
    answered();
    const third = offer(A);
    expect(third.state).toBe('waiting');
    answers[0]?.();
    await settled();
    expect(third.state).toBe('in flight');
    expect(lane.held).toBe(3);
    expect(lane.inFlight).toBe(2);
    settling[0]?.();
    await settled();
    expect(lane.held).toBe(2);
  });

  it('refuses what goes beyond the share of an endpoint, and takes attempts of others', () => {
    expect(offerMany(A, 6).map(({ answer }) => answer)).toEqual([...Array<string>(5).fill('taken'), 'share_full']);
    expect(offer(B).answer).toBe('taken');
  });

  it('refuses what goes beyond the share of an organization, and takes attempts of others', async () => {
    lane = new Lane({ ...LIMITS, heldPerOrg: 6 }, () => nowMs);
    const answers = [...offerMany(A, 4), ...offerMany(B, 4)].map(({ answer }) => answer);
    expect(answers).toEqual([...Array<string>(6).fill('taken'), 'share_full', 'share_full']);
    const other = offer(C, OWNER, OTHER_ORG);
    expect(other.answer).toBe('taken');
    await end(other);
    expect(offer(B).answer).toBe('share_full');
  });

  it('refuses everything once it is full, and takes attempts again as soon as there is room', async () => {
    const [first] = offerMany(A, 5);
    offerMany(B, 5);
    expect(lane.held).toBe(10);
    expect(offer(C).answer).toBe('lane_full');
    await end(first!);
    expect(offer(C)).toMatchObject({ answer: 'taken', state: 'in flight' });
  });

  it('reports when it is idle: nothing in flight and nothing waiting', async () => {
    const attempts = offerMany(A, 3);
    let isIdle = false;
    void lane.idle().then(() => {
      isIdle = true;
    });
    await end(attempts[0]!, attempts[1]!);
    expect(isIdle).toBe(false);
    await end(attempts[2]!);
    expect(isIdle).toBe(true);
    await lane.idle();
    expect(lane.held).toBe(0);
  });
});

describe('an endpoint that answers late', () => {
  it('has a small share of the lane for 30 s after its last late answer', async () => {
    await answerAfter(A, 1_001);
    expect(offerMany(A, 2).map(({ answer }) => answer)).toEqual(['taken', 'share_full']);
    expect(offerMany(B, 5).every(({ answer }) => answer === 'taken')).toBe(true);
  });

  it('has its whole share again after that', async () => {
    await answerAfter(A, 1_001);
    nowMs += 29_999;
    const held = offer(A);
    expect(offer(A).answer).toBe('share_full');
    await end(held);
    nowMs += 1;
    expect(offerMany(A, 5).every(({ answer }) => answer === 'taken')).toBe(true);
  });

  it('is not one that answers in a second', async () => {
    await answerAfter(A, 1_000);
    expect(offerMany(A, 5).every(({ answer }) => answer === 'taken')).toBe(true);
  });

  it('is recognised while it has not answered at all', async () => {
    const hanging = offer(A);
    nowMs = 1_001;
    expect(offer(A).answer).toBe('share_full');
    await end(hanging);
  });

  it('gives up its waiting attempts, and keeps its small share', () => {
    const attempts = offerMany(A, 5);
    const others = offerMany(B, 3);
    nowMs = 1_001;
    lane.relieve();
    expect(attempts.map(({ state }) => state)).toEqual(['in flight', 'in flight', 'given up', 'given up', 'given up']);
    expect(others.map(({ state }) => state)).toEqual(['in flight', 'in flight', 'given up']);
    expect(lane.held).toBe(4);
  });

  it('leaves the lane to the others, whose waiting attempts stay', async () => {
    const hanging = offerMany(A, 5);
    nowMs = 1_001;
    const quick = offerMany(B, 5);
    lane.relieve();
    expect(hanging.filter(({ state }) => state === 'given up')).toHaveLength(3);
    expect(quick.filter(({ state }) => state === 'given up')).toHaveLength(0);
    await end(...quick.slice(0, 2));
    expect(quick.map(({ state }) => state)).toEqual(['done', 'done', 'in flight', 'in flight', 'waiting']);
  });

  it('is not one whose attempts wait in this process before and after the POST', async () => {
    let finish: () => void = () => undefined;
    lane.offer(
      OWNER,
      { orgId: ORG, endpointId: A },
      async (flight) => {
        await new Promise<void>((resolve) => (finish = resolve));
        flight.posting();
        nowMs += 10;
        flight.answered();
        await new Promise<void>((resolve) => (finish = resolve));
      },
      () => undefined,
    );
    for (let step = 0; step < 2; step++) {
      nowMs += 5_000;
      const other = offer(A);
      expect(other.answer).toBe('taken');
      await end(other);
      finish();
      await settled();
    }
    expect(offer(A).answer).toBe('taken');
  });

  it('has one attempt tried at a time that still waits for it when its share is one', async () => {
    await answerAfter(A, 1_001);
    const one = offer(A);
    lane.relieve();
    expect(one.state).toBe('in flight');
    await end(one);
    expect(one.state).toBe('done');
  });
});

describe('an endpoint that is quick', () => {
  it('is let go of nothing', async () => {
    const attempts = offerMany(A, 5);
    nowMs = 1_000;
    lane.relieve();
    expect(attempts.filter(({ state }) => state === 'given up')).toEqual([]);
    await end(...attempts.slice(0, 2));
    lane.relieve();
    expect(attempts.map(({ state }) => state)).toEqual(['done', 'done', 'in flight', 'in flight', 'waiting']);
  });
});

describe('a lane that may not begin attempts just now', () => {
  it('holds them until it may, and is asked to advance', () => {
    let mayStart = false;
    lane = new Lane(
      LIMITS,
      () => nowMs,
      () => mayStart,
    );
    const attempts = offerMany(A, 3);
    expect(attempts.map(({ state }) => state)).toEqual(['waiting', 'waiting', 'waiting']);
    mayStart = true;
    lane.advance();
    expect(attempts.map(({ state }) => state)).toEqual(['in flight', 'in flight', 'waiting']);
  });

  it('asks for each attempt that it begins, and for no other', () => {
    let asked = 0;
    lane = new Lane(
      LIMITS,
      () => nowMs,
      () => ++asked > 0,
    );
    offerMany(A, 5);
    expect(asked).toBe(2);
  });
});

describe('servesModestEndpoints', () => {
  beforeEach(() => {
    nowMs = 100_000;
  });

  it('is so while an endpoint that is content with its share is being sent something', () => {
    offer(A);
    lane.relieve();
    expect(lane.servesModestEndpoints).toBe(true);
    nowMs += 2_000;
    lane.relieve();
    expect(lane.servesModestEndpoints).toBe(false);
  });

  it('is not so for an endpoint that lately held all that it may', async () => {
    const attempts = offerMany(A, 6);
    lane.relieve();
    expect(lane.servesModestEndpoints).toBe(false);
    await end(...attempts.slice(0, 2));
    nowMs += 30_001;
    await end(attempts[2]!, attempts[3]!);
    lane.relieve();
    expect(lane.servesModestEndpoints).toBe(true);
  });
});

describe('servesModestEndpoints of an organization with many endpoints', () => {
  it('is not so while they hold its share together, and stays so for others', () => {
    nowMs = 100_000;
    lane = new Lane({ ...LIMITS, heldPerOrg: 6 }, () => nowMs);
    offerMany(A, 3);
    offerMany(B, 3);
    lane.relieve();
    expect(lane.servesModestEndpoints).toBe(false);
    offer(C, OWNER, OTHER_ORG);
    lane.relieve();
    expect(lane.servesModestEndpoints).toBe(true);
  });
});

describe('attempts that are withdrawn', () => {
  it('are not begun any more, and leave room for others', async () => {
    const [lost, kept] = [{}, {}];
    const attempts = [lost, kept, lost, kept, lost].map((owner) => offer(A, owner));
    const held = lane.held;
    lane.withdraw(lost);
    expect(lane.held).toBe(held - 2);
    await end(attempts[0]!, attempts[1]!);
    expect(attempts.map(({ state }) => state)).toEqual(['done', 'done', 'waiting', 'in flight', 'waiting']);
    await end(attempts[3]!);
    expect(lane.held).toBe(0);
  });

  it('have `isWithdrawn` set if they have begun', () => {
    const [lost, kept] = [{}, {}];
    const flights: Flight[] = [];
    for (const owner of [lost, kept]) {
      lane.offer(
        owner,
        { orgId: ORG, endpointId: A },
        (flight) => {
          flights.push(flight);
          return new Promise(() => undefined);
        },
        () => undefined,
      );
    }
    lane.withdraw(lost);
    expect(flights.map(({ isWithdrawn }) => isWithdrawn)).toEqual([true, false]);
  });
});

describe('a lane that busy endpoints fill', () => {
  it('keeps places for endpoints with next to nothing in it', () => {
    lane = new Lane({ ...LIMITS, keptForModest: 4 }, () => nowMs);
    const answers = [...offerMany(A, 5), ...offerMany(B, 5)].map(({ answer }) => answer);
    expect(answers.filter((answer) => answer === 'taken')).toHaveLength(7);
    expect(answers.at(-1)).toBe('lane_full');
    expect(offer(C).answer).toBe('taken');
  });

  it('lets endpoints take turns where not all may begin', async () => {
    let starts = 2;
    lane = new Lane(
      LIMITS,
      () => nowMs,
      () => starts-- > 0,
      () => true,
    );
    const ofBusy = offerMany(A, 5);
    const [ofOther] = offerMany(B, 1);
    expect(ofBusy.map(({ state }) => state).slice(0, 2)).toEqual(['in flight', 'in flight']);
    for (const attempt of ofBusy.slice(0, 2)) {
      starts = 1;
      await end(attempt);
    }
    expect(ofOther?.state).toBe('in flight');
    expect(ofBusy.map(({ state }) => state)).toEqual(['done', 'done', 'in flight', 'waiting', 'waiting']);
  });
});

describe('an urgent attempt', () => {
  const urgent = (endpointId: EndpointId, orgId = ORG) => offer(endpointId, OWNER, orgId, true);

  it('begins before others that wait for its endpoint, even if that holds as many as it may', async () => {
    const others = offerMany(A, 6);
    expect(others.map(({ answer }) => answer)).toEqual([...Array<string>(5).fill('taken'), 'share_full']);
    const [first, second] = [urgent(A), urgent(A)];
    expect([first.state, second.state]).toEqual(['waiting', 'waiting']);
    await end(others[0]!);
    expect([first.state, second.state, others[2]!.state]).toEqual(['in flight', 'waiting', 'waiting']);
    await end(others[1]!, first);
    expect([second.state, others[2]!.state, others[3]!.state]).toEqual(['in flight', 'in flight', 'waiting']);
  });

  it('gets places that no other waits for if its endpoint has enough of them', async () => {
    lane = new Lane({ ...LIMITS, inFlightPerEndpoint: 4 }, () => nowMs);
    const all = Array.from({ length: 6 }, () => urgent(A));
    expect(all.map(({ answer }) => answer)).toEqual([...Array<string>(4).fill('taken'), 'share_full', 'share_full']);
    const other = offer(A);
    expect(other.state).toBe('waiting');
    await end(all[2]!);
    expect(other.state).toBe('in flight');
    expect(urgent(A).answer).toBe('share_full');
    await end(all[0]!);
    expect(urgent(A).state).toBe('in flight');
  });

  it('leaves all but a few places to the others of its endpoint, for as long as those wait', async () => {
    lane = new Lane({ ...LIMITS, held: 100, inFlightPerEndpoint: 4, heldPerEndpoint: 12 }, () => nowMs);
    const running = [...offerMany(A, 12), urgent(A), urgent(A)];
    const inFlight = () => running.filter(({ state }) => state === 'in flight');
    for (let ended = 0; ended < 8; ended++) {
      await end(inFlight()[0]!);
      running.push(urgent(A));
      expect(inFlight().filter(({ isUrgent }) => isUrgent)).toHaveLength(Math.min(ended + 1, LIMITS.urgentPerEndpoint));
      expect(inFlight()).toHaveLength(4);
    }
  });

  it('has one of a few places of its organization', () => {
    lane = new Lane({ ...LIMITS, held: 100, heldPerOrg: 15 }, () => nowMs);
    for (const id of [A, B, C]) offerMany(id, LIMITS.heldPerEndpoint);
    expect([A, A, B, C].map((id) => urgent(id).answer)).toEqual(['taken', 'taken', 'taken', 'share_full']);
  });

  it('has one place of an endpoint that answers slowly, and the others are given up', async () => {
    const full = offerMany(A, LIMITS.heldPerEndpoint);
    const urgents = [urgent(A), urgent(A)];
    nowMs = 1_500;
    lane.relieve();
    expect(full.map(({ state }) => state)).toEqual(['in flight', 'in flight', 'given up', 'given up', 'given up']);
    expect(urgents.map(({ state }) => state)).toEqual(['waiting', 'given up']);
    expect(urgent(A).answer).toBe('share_full');
    await end(full[0]!);
    expect(urgents[0]!.state).toBe('in flight');
  });

  it('is no longer counted after it has ended or was withdrawn', async () => {
    offerMany(A, LIMITS.heldPerEndpoint);
    const owner = {};
    expect([0, 1].map(() => offer(A, owner, ORG, true).answer)).toEqual(['taken', 'taken']);
    lane.withdraw(owner);
    expect([urgent(A).answer, urgent(A).answer, urgent(A).answer]).toEqual(['taken', 'taken', 'share_full']);
    await settled();
  });
});
