import { describe, expect, it } from '@jest/globals';
import { parseOrder } from './order.js';

const HAS = { sets: 2, brokers: 3 };

describe('an order', () => {
  it.each([
    ['stop 2', { kind: 'stop', target: { kind: 'set', number: 2 } }],
    ['  KILL  set 1 ', { kind: 'kill', target: { kind: 'set', number: 1 } }],
    ['start broker 3', { kind: 'start', target: { kind: 'broker', number: 3 } }],
    ['status', { kind: 'status' }],
    ['quit', { kind: 'quit' }],
    ['', { kind: 'nothing' }],
  ])('is read from %p', (line, order) => {
    expect(parseOrder(line, HAS)).toEqual(order);
  });

  it.each(['stop', 'stop all', 'status 1', 'halt 2', 'stop 2 3', 'constructor'])('is not read from %p', (line) => {
    expect(parseOrder(line, HAS)).toMatchObject({ kind: 'unclear', reason: expect.stringContaining('try help') });
  });

  it.each(['stop 0', 'kill 3', 'start broker 4'])('about what is not there says what is: %p', (line) => {
    expect(parseOrder(line, HAS)).toMatchObject({ kind: 'unclear', reason: expect.stringContaining('there are 1 to') });
  });
});
