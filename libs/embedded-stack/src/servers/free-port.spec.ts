import { describe, expect, it } from '@jest/globals';
import { quietPort } from './free-port.js';

describe('quietPort', () => {
  it('gives the wanted port while it is free', async () => {
    const wanted = await quietPort();
    expect(await quietPort(wanted)).toBe(wanted);
  });

  it('gives another one than a port that is spoken for, though nobody listens on it yet', async () => {
    const spokenFor = await quietPort();
    expect(await quietPort(spokenFor, new Set([spokenFor]))).not.toBe(spokenFor);
  });
});
