import { beforeEach, describe, expect, it } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';
import type { IdempotencyRecords } from '#libs/postgres';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import { Idempotency } from './idempotency.js';

const request = {
  headers: { 'idempotency-key': 'k1' },
  url: '/api/v1/internal/events',
  params: {},
  apiKey: { id: 'gk_1' },
} as unknown as FastifyRequest;
const reply = {} as FastifyReply;
const limited = new GaplessError('rate_limited', 'Too many events.');
const away = new GaplessError('unavailable', 'Kafka is away.');

/** The seed that is stored; `undefined` while the request is unknown. */
let stored: string | undefined;
/** The outcomes that were noted. */
let noted: string[];
/** How many of the next outcomes cannot be noted. */
let failures: number;
let idempotency: Idempotency;

beforeEach(() => {
  stored = undefined;
  noted = [];
  failures = 0;
  const note = (outcome: string) => () => {
    if (failures-- > 0) return Promise.reject(new Error('Postgres is away.'));
    noted.push(outcome);
    return Promise.resolve();
  };
  const records = {
    claim: (_request: unknown, lease: string) => Promise.resolve({ kind: 'claimed', seed: (stored ??= lease) }),
    forget: () => {
      stored = undefined;
      return Promise.resolve();
    },
    reopen: note('reopened'),
    answer: note('answered'),
  } as unknown as IdempotencyRecords;
  idempotency = new Idempotency(records, aStageKit({ nowMs: 0 }).logger);
});

/** Tries the request, which fails. @returns the seed that it got */
async function refused(error: GaplessError): Promise<string | null> {
  let given: string | null = null;
  const act = (seed: string | null) => {
    given = seed;
    return Promise.reject(error);
  };
  await expect(idempotency.once(request, reply, act)).rejects.toBe(error);
  return given;
}

describe('an outcome that cannot be noted at once', () => {
  it.each([
    ['reopened', () => refused(away)],
    ['answered', () => idempotency.once(request, reply, () => Promise.resolve('done'))],
  ])('is %s in the background, so that a repeat is not refused until the lease ends', async (outcome, act) => {
    failures = 2;
    await act();
    expect(noted).toEqual([]);
    await eventually(() => {
      expect(noted).toEqual([outcome]);
    });
  });
});

it('a request with a longer path than operations have is not stored', async () => {
  const long = { ...request, url: `/api/v1/external/webhooks/${'x'.repeat(3_000)}/test` } as unknown as FastifyRequest;
  expect(await idempotency.once(long, reply, (seed) => Promise.resolve({ seed }))).toEqual({ seed: null });
  expect([stored, noted]).toEqual([undefined, []]);
});

describe('a request that is refused', () => {
  it('is forgotten', async () => {
    const first = await refused(limited);
    expect(stored).toBeUndefined();
    expect(await refused(limited)).not.toBe(first);
  });

  it('keeps its seed if an attempt before it may have had its effect', async () => {
    const first = await refused(away);
    expect(await refused(limited)).toBe(first);
    expect(await refused(away)).toBe(first);
  });
});
