import { describe, expect, it } from '@jest/globals';
import { PipelineProgress } from './pipeline-progress.js';

describe('the way from the inbox to Postgres', () => {
  it('is unknown until everything that was there at a first look has passed', () => {
    const progress = new PipelineProgress();
    progress.look({ atMs: 1_000, inboxEnd: 10, sequencedTo: 5, logEnd: 4, projectedTo: 4 });
    expect(progress.lagMs(1_500)).toBeNull();
    progress.look({ atMs: 2_000, inboxEnd: 20, sequencedTo: 10, logEnd: 9, projectedTo: 8 });
    expect(progress.lagMs(2_500)).toBeNull();
    progress.look({ atMs: 3_000, inboxEnd: 30, sequencedTo: 15, logEnd: 14, projectedTo: 9 });
    expect(progress.lagMs(3_500)).toBe(2_500);
  });

  it('has no lag beyond the last look where nothing waits', () => {
    const progress = new PipelineProgress();
    for (const atMs of [1_000, 6_000]) {
      progress.look({ atMs, inboxEnd: 10, sequencedTo: 10, logEnd: 8, projectedTo: 8 });
    }
    expect(progress.lagMs(7_000)).toBe(1_000);
  });

  it.each([
    ['the sequencer stands still', { sequencedTo: 10, logEnd: 10, projectedTo: 10 }],
    ['the projector stands still', { sequencedTo: 1_000_000, logEnd: 1_000_000, projectedTo: 10 }],
  ])('grows by a second each second while %s, however many looks are remembered', (_case, stuck) => {
    const progress = new PipelineProgress();
    progress.look({ atMs: 0, inboxEnd: 10, sequencedTo: 10, logEnd: 10, projectedTo: 10 });
    for (let atMs = 1_000; atMs <= 3_600_000; atMs += 1_000) {
      progress.look({ atMs, inboxEnd: 10 + atMs, ...stuck });
    }
    expect(progress.lagMs(3_600_000)).toBe(3_600_000);
    // It catches up to where the inbox was half an hour ago.
    const half = 10 + 1_800_000;
    progress.look({ atMs: 3_601_000, inboxEnd: 3_600_010, sequencedTo: half, logEnd: half, projectedTo: half });
    progress.look({ atMs: 3_602_000, inboxEnd: 3_600_010, sequencedTo: half, logEnd: half, projectedTo: 2_000_000 });
    const lagMs = progress.lagMs(3_602_000)!;
    expect(lagMs).toBeGreaterThanOrEqual(1_801_000);
    expect(lagMs).toBeLessThan(2_200_000);
  });
});
