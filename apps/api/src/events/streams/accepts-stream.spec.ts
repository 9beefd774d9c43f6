import { describe, expect, it } from '@jest/globals';
import { quickestRunMs } from '../../../../../test/support/quickest-run.js';
import { acceptsStream } from './accepts-stream.js';

/** About as much as a request may have in its headers. */
const LONG = 15_900;
const LIMIT_MS = 500;

describe('a caller takes a stream', () => {
  it.each([
    'text/event-stream',
    ' Text/Event-Stream ',
    'application/json, text/event-stream',
    'text/event-stream;charset=utf-8',
    'text/event-stream; q=0.1',
    'text/event-stream; q=0.01; charset=utf-8',
    'text/event-stream; x=0',
    'text/event-stream;',
    'text/event-stream; q=0, text/event-stream',
  ])('with %s', (accept) => {
    expect(acceptsStream(accept)).toBe(true);
  });

  it.each([
    undefined,
    '',
    '*/*',
    'text/*',
    'application/json',
    'text/event-streams',
    'text/event-stream x',
    'text/event-stream; q=0',
    'text/event-stream;Q = 0.00 ;charset=utf-8',
    'text/event-stream; charset=utf-8; q=0.',
  ])('but not with %s', (accept) => {
    expect(acceptsStream(accept)).toBe(false);
  });

  it.each([
    `text/event-stream${' '.repeat(LONG)}x`,
    `${' '.repeat(LONG)}x`,
    `text/event-stream;${' '.repeat(LONG)}q${' '.repeat(LONG)}=0x`,
    `text/event-stream${';q=0x'.repeat(LONG / 5)}`,
    `text/event-stream${'='.repeat(LONG)}`,
  ])('and none makes the answer slow', (accept) => {
    const tenTimes = () => {
      for (let n = 0; n < 10; n++) acceptsStream(accept);
    };
    expect(quickestRunMs(tenTimes, LIMIT_MS)).toBeLessThan(LIMIT_MS);
  });
});
