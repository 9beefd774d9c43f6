import { describe, expect, it } from '@jest/globals';
import { batchLimit, isPaced, isUrgent } from './delivery-settings.js';

describe('an event is urgent', () => {
  it('by default if it alerts people to a chat, or ends the alert', () => {
    const types = ['queued', 'queued.escalated', 'picked_up', 'abandoned', 'handed_off', 'completed'];
    expect(types.map((type) => isUrgent(`conversation.${type}`))).toEqual([true, true, true, true, false, false]);
    expect(isUrgent('conversation.queued', { maxPerSecond: 1, urgent: null })).toBe(true);
  });

  it('if the endpoint says so, and no other is then', () => {
    const settings = { urgent: ['ticket.sla_breach'] };
    expect(isUrgent('ticket.sla_breach', settings)).toBe(true);
    expect(isUrgent('conversation.queued', settings)).toBe(false);
    expect(isUrgent('conversation.queued', { urgent: [] })).toBe(false);
  });

  it('never at an endpoint with an order', () => {
    expect(isUrgent('conversation.queued', { ordering: { by: 'subject', batch: 1 } })).toBe(false);
  });
});

describe('attempts', () => {
  it('wait for a limit or an order, and for nothing without one', () => {
    expect(isPaced()).toBe(false);
    expect(isPaced({ maxPerSecond: null, maxInFlight: null })).toBe(false);
    expect(isPaced({ maxPerSecond: 1 })).toBe(true);
    expect(isPaced({ maxPerSecond: null, maxInFlight: 1 })).toBe(true);
    expect(isPaced({ ordering: { by: 'subject', batch: 1 } })).toBe(true);
  });

  it('share requests from a batch of two on', () => {
    const limits = [1, 2].map((batch) => batchLimit({ ordering: { by: 'subject', batch } }));
    expect([batchLimit(), ...limits]).toEqual([null, null, 2]);
  });
});
