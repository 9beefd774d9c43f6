import { describe, expect, it } from '@jest/globals';
import type { EventSink } from './event-sink.js';
import type { NewEvent } from './new-event.js';
import { Producer } from './producer.js';

const EVENT: NewEvent = { event: 'ticket.created', org_id: '0f8fad5b-d9cb-469f-a165-70867728950e', data: {} };

describe('a producer', () => {
  it('names the invalid event of a list, and sends none', async () => {
    const sent: unknown[] = [];
    const producer = new Producer({ send: (events) => Promise.resolve(void sent.push(...events)) });
    const emitted = producer.emit([EVENT, { ...EVENT, data: { id: 12n } }]);
    await expect(emitted).rejects.toMatchObject({ name: 'InvalidEventError', index: 1 });
    expect(sent).toEqual([]);
  });

  it('closes its sink', async () => {
    let closed = 0;
    const close = () => {
      closed++;
      return Promise.resolve();
    };
    const sink: EventSink = { send: () => Promise.resolve(), close };
    await new Producer(sink).close();
    expect(closed).toBe(1);
  });

  it('may be closed over a sink that has nothing to close', async () => {
    await expect(new Producer({ send: () => Promise.resolve() }).close()).resolves.toBeUndefined();
  });
});
