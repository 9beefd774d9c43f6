import { describe, expect, it } from '@jest/globals';
import { AcceptedSessionTimes } from './session-times.js';

describe('the times of a session', () => {
  it('get longer for as long as the brokers refuse them, once for all members', () => {
    const accepted = new AcceptedSessionTimes();
    const shortest = accepted.current;
    expect(shortest.sessionMs).toBeLessThan(4_000);
    expect([accepted.refuse(shortest), accepted.refuse(shortest), accepted.refuse(shortest)]).toEqual([
      true,
      true,
      true,
    ]);
    // The times that brokers accept by default.
    expect(accepted.current.sessionMs).toBe(6_000);
    while (accepted.refuse(accepted.current));
    expect(accepted.current.sessionMs).toBe(30_000);
  });

  it('leave time for several heartbeats within a lease, which is half of a session', () => {
    const accepted = new AcceptedSessionTimes();
    do expect(accepted.current.sessionMs / 2).toBeGreaterThanOrEqual(3 * accepted.current.heartbeatMs);
    while (accepted.refuse(accepted.current));
  });
});
