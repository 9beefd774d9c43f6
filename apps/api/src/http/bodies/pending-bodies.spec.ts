import { beforeEach, describe, expect, it } from '@jest/globals';
import { PendingBodies, type HeldBody } from './pending-bodies.js';

const MIB = 1_024 ** 2;

let pending: PendingBodies;

beforeEach(() => {
  pending = new PendingBodies(16 * MIB);
});

function receive(caller: string, mib: number): HeldBody {
  const body = pending.of(caller);
  body.grow(mib * MIB);
  return body;
}

const refused = { code: 'rate_limited', options: { retryAfterSeconds: 1 } };

describe('a caller', () => {
  it('may hold half of what the others leave', () => {
    receive('greedy', 4);
    receive('greedy', 4);
    expect(() => receive('greedy', 1)).toThrow(expect.objectContaining(refused));
    receive('other', 4);
    expect(() => receive('other', 1)).toThrow(expect.objectContaining(refused));
    expect(() => receive('third', 3)).toThrow(expect.objectContaining({ code: 'unavailable' }));
    receive('third', 2);
  });

  it('gets room again once its request is answered, also if the request was refused before', () => {
    const body = receive('greedy', 8);
    expect(() => {
      body.grow(1);
    }).toThrow(expect.objectContaining(refused));
    body.release();
    receive('greedy', 8);
    expect(() => receive('greedy', 1)).toThrow(expect.objectContaining(refused));
  });

  it('gets no room while anybody keeps its body, such as a write that goes on without the caller', () => {
    const body = receive('greedy', 8);
    body.keep();
    body.release();
    expect(() => receive('greedy', 1)).toThrow(expect.objectContaining(refused));
    body.release();
    receive('greedy', 8);
  });

  it('takes no room with what arrives after the answer', () => {
    const body = receive('greedy', 8);
    body.release();
    body.grow(8 * MIB);
    receive('greedy', 8);
  });
});
