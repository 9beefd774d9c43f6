import { MemoryDedup, type GaplessEvent, type Push } from '#libs/consumer';
import type { EventPrinter } from './event-printer.js';
import { repeatText } from './event-text.js';

export interface TakingPushesOptions {
  readonly printer: EventPrinter;
  /** What pushes are answered with. */
  readonly status: number;
  readonly print: (text: string) => void;
}

/** Without a feed to fill gaps from: every event is printed once, as it comes. */
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
