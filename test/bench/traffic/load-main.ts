import { serveOperations } from './operations.js';
import { Publishing, type PublishedEvents, type PublishOrder } from './publishing.js';

const underWay = new Map<string, Publishing>();

const operations = {
  async publish(order: PublishOrder): Promise<PublishedEvents> {
    const publishing = new Publishing(order);
    underWay.set(order.name, publishing);
    try {
      return await publishing.run();
    } finally {
      underWay.delete(order.name);
    }
  },

  /** Ends the publishing of the name, which then answers with what was published until then. */
  endPublishing(name: string): void {
    underWay.get(name)?.end();
  },
};

export type LoadOperations = typeof operations;

serveOperations(operations);
