import { describe, expect, it } from '@jest/globals';
import type { Feed, GaplessEvent } from '#libs/consumer';
import { catalogEntry } from '#libs/domain';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { memoryState } from './consumer-state.js';
import { Consumption } from './consumption.js';
import { EventPrinter } from './event-printer.js';

const ORG = '0f8fad5b-d9cb-469f-a165-70867728950e';
const QUEUED = 'conversation.queued';

function aQueuedChat(seq: number, id: string): GaplessEvent {
  const occurredAt = '2026-03-02T09:12:44.000Z';
  const { example: data } = catalogEntry(QUEUED);
  return { id, seq, event: QUEUED, occurred_at: occurredAt, org_id: ORG, data } as unknown as GaplessEvent;
}

const EXAMPLE = aQueuedChat(1, `evt_EXAMPLE${'0'.repeat(26)}`);
const REAL = aQueuedChat(2, 'evt_2');

/** Handles both events. @returns the first line of each text that is printed */
async function printedOf(pushes: readonly GaplessEvent[]): Promise<readonly string[]> {
  const printed: string[] = [];
  const print = (text: string) => void printed.push(text.split('\n')[0] ?? '');
  const events = [EXAMPLE, REAL];
  const feed: Feed = {
    page: ({ since }) =>
      Promise.resolve({ events: events.filter(({ seq }) => seq > since), nextSeq: null, oldestSeq: 1, headSeq: 2 }),
  };
  const state = memoryState();
  await state.cursor.save(0);
  const options = { orgId: ORG, feed, state, events: [QUEUED], printer: new EventPrinter(print), status: 200, print };
  const consumption = new Consumption({ ...options, onReady: () => undefined });
  for (const event of pushes) consumption.take(event, { body: Buffer.from('{}'), deliveryId: 'whd_1', attempt: 1 });
  const stop = new AbortController();
  const running = consumption.run(stop.signal);
  await eventually(() => {
    expect(printed.at(-1)).toMatch(/ALERT/);
  });
  stop.abort();
  await running;
  return printed;
}

describe('an example of an alert', () => {
  const real = ['#2  conversation.queued  evt_2  read from the feed', expect.stringMatching(/^▲ {2}ALERT .* 1 open$/)];

  it('that was sent to another endpoint is left out of the feed', async () => {
    expect(await printedOf([])).toEqual(real);
  });

  it('that is pushed is printed, and raises no alert', async () => {
    expect(await printedOf([EXAMPLE])).toEqual([
      expect.stringMatching(/^#1 {2}conversation\.queued {2}evt_EXAMPLE0+ {2}attempt 1 .*answered 200$/),
      ...real,
    ]);
  });
});
