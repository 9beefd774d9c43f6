import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CompletionTracker } from './completion-tracker.js';

/** Lists what is taken and what is complete: the plain model that the tracker is compared with. */
class Ledger {
  readonly #open = new Set<number>();
  constructor(private end: number) {}

  take(offset: number): void {
    this.#open.add(offset);
    this.end = offset + 1;
  }

  complete(offset: number): void {
    this.#open.delete(offset);
  }

  get open(): readonly number[] {
    return [...this.#open];
  }

  get committable(): number {
    return Math.min(this.end, ...this.#open);
  }

  get next(): number {
    return this.end;
  }
}

const step = fc.oneof(
  fc.record({ kind: fc.constant('take' as const), skip: fc.oneof(fc.constant(0), fc.nat({ max: 5 })) }),
  fc.record({ kind: fc.constant('complete' as const), which: fc.nat() }),
  fc.record({ kind: fc.constant('repeat' as const), back: fc.nat({ max: 50 }) }),
);

describe('CompletionTracker', () => {
  it('commits up to the first offset that is not complete, as a plain ledger does', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1_000 }), fc.array(step, { maxLength: 80 }), (first, steps) => {
        const tracker = new CompletionTracker(first);
        const ledger = new Ledger(first);
        for (const one of steps) {
          switch (one.kind) {
            case 'take':
              tracker.take(tracker.next + one.skip);
              ledger.take(ledger.next + one.skip);
              break;
            case 'complete': {
              const offset = ledger.open[one.which % Math.max(1, ledger.open.length)];
              if (offset === undefined) break;
              tracker.complete(offset);
              ledger.complete(offset);
              break;
            }
            case 'repeat':
              // Offsets before the first open one are complete already, and may be completed again.
              tracker.complete(ledger.committable - 1 - one.back);
          }
          expect([tracker.committable, tracker.next]).toEqual([ledger.committable, ledger.next]);
        }
      }),
    );
  });

  it('does not move while the first one is open, and then moves past all that are complete', () => {
    const tracker = new CompletionTracker(10);
    for (const offset of [10, 11, 12, 13]) tracker.take(offset);
    tracker.complete(12);
    tracker.complete(11);
    expect(tracker.committable).toBe(10);
    tracker.complete(10);
    expect(tracker.committable).toBe(13);
  });

  it('counts offsets that the topic skips as complete', () => {
    const tracker = new CompletionTracker(10);
    tracker.take(15);
    expect(tracker.committable).toBe(15);
    expect(tracker.next).toBe(16);
  });

  it('moves past however many offsets the topic skips', () => {
    const tracker = new CompletionTracker(0);
    tracker.take(0);
    // More than a set can hold.
    tracker.take(20_000_000);
    tracker.complete(0);
    expect(tracker.committable).toBe(20_000_000);
  });
});
