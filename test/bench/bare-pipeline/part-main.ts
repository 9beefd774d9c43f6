import { serveOperations } from '../traffic/operations.js';
import { Part, type FedEvents, type FeedOrder, type PartOptions, type PartProgress } from './part.js';

let part: Part | undefined;

function started(): Part {
  if (part === undefined) throw new Error('the part has not been started');
  return part;
}

const operations = {
  /** Connects, and joins the consumer groups of the hops. */
  async start(options: PartOptions): Promise<void> {
    part = new Part(options);
    await part.start();
  },

  feed(order: FeedOrder): Promise<FedEvents> {
    return started().feed(order);
  },

  /** @throws what went wrong in a hop */
  progress(): PartProgress {
    return started().progress();
  },

  takeLatenciesMs(): readonly number[] {
    return started().takeLatenciesMs();
  },

  async stop(): Promise<void> {
    await started().stop();
  },
};

export type PartOperations = typeof operations;

serveOperations(operations);
