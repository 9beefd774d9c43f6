import { beforeEach, describe, expect, it } from '@jest/globals';
import { PartitionProgress } from './partition-progress.js';

const NOON = Date.UTC(2026, 0, 1, 12);

let progress: PartitionProgress;

beforeEach(() => {
  progress = new PartitionProgress();
});

describe('the lag of a consumer in a partition', () => {
  it('is nothing when everything is handled', () => {
    progress.reached(50);
    expect(progress.lag(0, 50, NOON)).toEqual({ records: 0, seconds: 0 });
  });

  it('is reported as 0 until the place of the consumer is known', () => {
    expect(progress.lag(0, 50, NOON)).toEqual({ records: 0, seconds: 0 });
  });

  it('counts the records between the consumer and the end', () => {
    progress.reached(10);
    expect(progress.lag(0, 50, NOON).records).toBe(40);
  });

  it('does not count records that retention has removed', () => {
    progress.reached(10);
    expect(progress.lag(45, 50, NOON).records).toBe(5);
  });

  it('is as old as the batch that is being handled', () => {
    progress.arrived(10, NOON - 9_000);
    progress.reached(10);
    progress.arrived(10, NOON - 9_000);
    expect(progress.lag(0, 11, NOON).seconds).toBe(9);
  });

  it('grows from the first look at records that nobody takes up', () => {
    progress.reached(10);
    progress.arrived(19, NOON);
    expect(progress.lag(0, 20, NOON).seconds).toBe(0);
    progress.arrived(29, NOON + 15_000);
    expect(progress.lag(0, 30, NOON + 15_000)).toEqual({ records: 20, seconds: 15 });
    progress.reached(20);
    expect(progress.lag(0, 30, NOON + 20_000)).toEqual({ records: 10, seconds: 5 });
    progress.reached(30);
    expect(progress.lag(0, 30, NOON + 60_000).seconds).toBe(0);
  });

  it('is not as old as the last record before a quiet night', () => {
    progress.arrived(9, NOON - 36_000_000);
    progress.reached(10);
    progress.arrived(10, NOON - 5);
    expect(progress.lag(0, 11, NOON).seconds).toBe(0.005);
  });

  it('stays true when a consumer stands still for a day', () => {
    progress.reached(0);
    for (let minute = 0; minute < 1_440; minute++) progress.arrived(minute, NOON + minute * 60_000);
    expect(progress.lag(0, 1_440, NOON + 86_400_000).seconds).toBe(86_400);
    progress.reached(720);
    expect(progress.lag(0, 1_440, NOON + 86_400_000).seconds).toBeCloseTo(43_200, -4);
  });

  it('is never negative when clocks differ', () => {
    progress.reached(0);
    progress.arrived(0, NOON + 500);
    expect(progress.lag(0, 1, NOON).seconds).toBe(0);
  });
});
