import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PartitionPauses } from './partition-pauses.js';

const DAY_MS = 86_400_000;
const REASONS = ['rest', 'full', 'held'] as const;
type Reason = (typeof REASONS)[number];

let calls: string[];
let pauses: PartitionPauses;

beforeEach(() => {
  jest.useFakeTimers();
  calls = [];
  pauses = new PartitionPauses({
    pause: (topic, partition) => calls.push(`pause ${topic}/${partition}`),
    resume: (topic, partition) => calls.push(`resume ${topic}/${partition}`),
  });
});

afterEach(() => {
  jest.useRealTimers();
});

function begin(reason: Reason): void {
  if (reason === 'rest') pauses.rest('log', 0, 1_000);
  else if (reason === 'full') pauses.setFull('log', 0, true);
  else pauses.hold('log', 0, true);
}

function end(reason: Reason): void {
  if (reason === 'rest') pauses.endRest('log', 0);
  else if (reason === 'full') pauses.setFull('log', 0, false);
  else pauses.hold('log', 0, false);
}

describe('a partition that rests', () => {
  it('is fetched again once the time is over, and not before', () => {
    pauses.rest('log', 0, 1_000);
    jest.advanceTimersByTime(999);
    expect(calls).toEqual(['pause log/0']);
    jest.advanceTimersByTime(1);
    expect(calls).toEqual(['pause log/0', 'resume log/0']);
  });

  it('rests for as long as was asked for last', () => {
    pauses.rest('log', 0, 1_000);
    jest.advanceTimersByTime(900);
    pauses.rest('log', 0, 1_000);
    jest.advanceTimersByTime(900);
    expect(calls).toEqual(['pause log/0']);
    pauses.rest('log', 0, 10);
    jest.advanceTimersByTime(10);
    expect(calls).toEqual(['pause log/0', 'resume log/0']);
  });

  it('rests for the whole time again after its rest was ended early', () => {
    pauses.rest('log', 0, 1_000);
    jest.advanceTimersByTime(500);
    pauses.endRest('log', 0);
    expect(calls.splice(0)).toEqual(['pause log/0', 'resume log/0']);
    pauses.rest('log', 0, 1_000);
    jest.advanceTimersByTime(999);
    expect(calls).toEqual(['pause log/0']);
  });

  it('is not fetched at once if it has to rest for longer than a timer can wait', () => {
    pauses.rest('log', 0, 60 * DAY_MS);
    jest.advanceTimersByTime(20 * DAY_MS);
    expect(calls).toEqual(['pause log/0']);
  });
});

describe('a partition that is paused for several reasons', () => {
  it.each(REASONS.flatMap((one) => REASONS.filter((other) => other !== one).map((other) => [one, other] as const)))(
    'is paused once, and fetched again only after both %s and %s have ended',
    (one, other) => {
      begin(one);
      begin(other);
      end(one);
      expect(calls).toEqual(['pause log/0']);
      end(other);
      expect(calls).toEqual(['pause log/0', 'resume log/0']);
    },
  );

  it.each(REASONS)('does not depend on what ends although it never began, while its reason is %s', (reason) => {
    begin(reason);
    for (const other of REASONS) if (other !== reason) end(other);
    expect(calls).toEqual(['pause log/0']);
  });

  it('has nothing to do with another partition', () => {
    begin('held');
    pauses.setFull('log', 1, true);
    pauses.setFull('log', 1, false);
    expect(calls).toEqual(['pause log/0', 'pause log/1', 'resume log/1']);
  });
});

it('is not resumed by an end without a pause', () => {
  for (const reason of REASONS) end(reason);
  expect(calls).toEqual([]);
});

it.each([
  ['endAll', ['resume log/0', 'resume log/1']],
  ['clear', []],
] as const)('after %s no pause and no timer is left', (act, resumed) => {
  begin('rest');
  begin('held');
  pauses.rest('log', 1, 1_000);
  calls = [];
  pauses[act]();
  jest.advanceTimersByTime(5_000);
  expect(calls.splice(0)).toEqual(resumed);
  begin('full');
  expect(calls).toEqual(['pause log/0']);
});
