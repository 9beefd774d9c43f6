import { describe, expect, it } from '@jest/globals';
import type { EndpointRecord, RecentDeliveries } from '#libs/postgres';
import { endpointStatus, endpointStatusJson } from './webhook.presenter.js';

const active = {
  isActive: true,
  disabledAt: null,
  disabledReason: null,
  failureCount: 0,
  lastTriggeredAt: new Date(0),
} as unknown as EndpointRecord;
const recent = (tried: number, failed: number, triedSince: number, failedSince: number): RecentDeliveries => ({
  tried,
  failed,
  sinceEnabled: { tried: triedSince, failed: failedSince },
});

describe('the status of an endpoint', () => {
  it.each([
    ['healthy', active, recent(100, 5, 100, 5)],
    ['failing', active, recent(100, 6, 100, 6)],
    // It was enabled again, and nothing has failed since.
    ['healthy', active, recent(20, 20, 0, 0)],
    ['healthy', active, recent(21, 20, 1, 0)],
    ['failing', active, recent(21, 20, 1, 1)],
    ['failing', { ...active, failureCount: 1 }, undefined],
    ['never_tried', { ...active, lastTriggeredAt: null }, undefined],
    ['paused', { ...active, isActive: false, disabledReason: 'operator' }, recent(1, 1, 1, 1)],
    ['disabled', { ...active, isActive: false, disabledReason: 'gone' }, undefined],
  ] as const)('is %s', (status, endpoint, deliveries) => {
    expect(endpointStatus(endpoint, deliveries)).toBe(status);
  });

  it('comes with all that failed recently, also before it was enabled', () => {
    const json = {
      status: 'healthy',
      recent_deliveries: 20,
      recent_failed: 20,
      disabled_at: null,
      disabled_reason: null,
    };
    expect(endpointStatusJson(active, recent(20, 20, 0, 0))).toEqual(json);
  });
});
