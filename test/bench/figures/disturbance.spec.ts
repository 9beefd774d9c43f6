import { describe, expect, it } from '@jest/globals';
import { ALL_ELSE, disturbance } from './disturbance.js';

describe('a disturbance', () => {
  it('is the worst of what else was running, in any part of a scenario and any run', () => {
    const figures = [
      { name: `1 a request: ${ALL_ELSE}`, most: 0.2 },
      { name: `100 a request: ${ALL_ELSE}`, most: 0.7 },
      { name: 'cores in use: Kafka', most: 1.5 },
    ];
    expect(disturbance(figures)).toBe(0.7);
  });

  it('is none where next to nothing was running, or nobody knows', () => {
    expect(disturbance([{ name: ALL_ELSE, most: 0.1 }])).toBeUndefined();
    expect(disturbance([{ name: ALL_ELSE, most: null }])).toBeUndefined();
  });
});
