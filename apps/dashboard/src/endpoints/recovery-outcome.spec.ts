import { describe, expect, it } from '@jest/globals';
import type { RecoveryProgress } from '../api/resources.js';
import { recoveryOutcome } from './recovery-outcome.js';

function part(status: RecoveryProgress['status'], scheduled: number): RecoveryProgress {
  return {
    id: 'rec_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
    webhook_id: 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
    status,
    kinds: ['missed'],
    since_seq: 0,
    since: null,
    until: null,
    looked_through_seq: 1_200,
    through_seq: 5_000,
    matched: scheduled,
    scheduled,
    error: null,
    created_at: '2026-06-01T00:00:00.000Z',
    ended_at: null,
  };
}

describe('the outcome of a recovery', () => {
  it('has nothing to do with deliveries that failed before it', () => {
    expect(recoveryOutcome([part('done', 100)], 100, 0)).toEqual({
      scheduled: 100,
      total: 100,
      isRunning: false,
      text: '100 of 100 scheduled, none waiting.',
    });
  });

  it('is what is scheduled so far while it runs', () => {
    expect(recoveryOutcome([part('done', 1_000), part('running', 5_000)], 20_000, 4_990)).toMatchObject({
      isRunning: true,
      text: '6,000 of 20,000 scheduled, 4,990 waiting at the endpoint.',
    });
    expect(recoveryOutcome([undefined], 20_000, undefined)).toMatchObject({
      isRunning: true,
      text: '0 of 20,000 scheduled.',
    });
    // It may run on while nothing waits at the moment.
    expect(recoveryOutcome([part('running', 5_000)], 20_000, 0)).toMatchObject({ isRunning: true });
  });

  it('is what was scheduled before it was stopped or failed', () => {
    expect(recoveryOutcome([part('stopped', 5_000)], 20_000, 5_000)).toMatchObject({
      isRunning: false,
      text: '5,000 of 20,000 scheduled before it was stopped, 5,000 waiting at the endpoint.',
    });
    expect(recoveryOutcome([part('failed', 5_000)], 20_000, 0)).toMatchObject({
      text: '5,000 of 20,000 scheduled before it failed, none waiting.',
    });
  });

  it('counts no further than the numbers that it has go', () => {
    expect(recoveryOutcome([part('running', 12_000)], 10_000, 10_000).text).toBe(
      '12,000 of 12,000 scheduled, 10,000+ waiting at the endpoint.',
    );
    expect(recoveryOutcome([part('done', 98)], 100, 3)).toMatchObject({ total: 98, isRunning: false });
  });
});
