import { describe, expect, it } from '@jest/globals';
import type { Activity, Endpoint, HealthStatus } from '../api/resources.js';
import { byUrgency } from './health-of.js';

const COUNT = 500;
const STATUSES: readonly HealthStatus[] = ['healthy', 'failing', 'never_tried'];
const idOf = (index: number) => `whe_${index}`;

describe('a list of endpoints by urgency', () => {
  it('begins with those that fail, and reads the activity once, however long it is', () => {
    let reads = 0;
    const activity = Array.from({ length: COUNT }, (_, index) => ({
      get endpoint_id() {
        reads++;
        return idOf(index);
      },
      health: { status: STATUSES[index % STATUSES.length] },
    })) as unknown as readonly Activity[];
    const endpoints = activity.map((_, index) => ({
      id: idOf(index),
      is_active: true,
      failure_count: 0,
      last_triggered_at: null,
    })) as unknown as readonly Endpoint[];
    const sorted = byUrgency(endpoints, activity).map(({ id }) => id);
    expect(sorted.slice(0, 2)).toEqual([idOf(1), idOf(4)]);
    expect(reads).toBe(COUNT);
  });
});
