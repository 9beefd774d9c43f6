import { MemoryDedup, type GaplessEvent, type Push } from '#libs/consumer';
import type { EventPrinter } from './event-printer.js';
import { repeatText } from './event-text.js';

export interface TakingPushesOptions {
  readonly printer: EventPrinter;
  /** The status that answers pushes. */
  readonly status: number;
  readonly print: (text: string) => void;
}

/** Handles pushes without a feed to fill gaps: prints every event once, as it comes. */
export function takingPushes(options: TakingPushesOptions): (event: GaplessEvent, push: Push) => Promise<void> {
  const { printer, status, print } = options;
  const dedup = new MemoryDedup();
  return async (event, push) => {
    const isNew = await dedup.once(event, () => {
      printer.handled(event, { kind: 'pushed', push, status });
      return Promise.resolve();
    });
    if (!isNew) print(repeatText(event, push, status));
  };
}
