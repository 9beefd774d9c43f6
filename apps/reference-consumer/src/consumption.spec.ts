import { describe, expect, it, jest } from '@jest/globals';
import type { Feed, GaplessEvent } from '#libs/consumer';
import { catalogEntry } from '#libs/domain';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { oneTo } from '../../../test/support/sequence.js';
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

const PUSH = { body: Buffer.from('{}'), deliveryId: 'whd_1', attempt: 1 };

/** @returns a consumption of these events, which begins with the first, and the first line of each text that it prints */
async function consuming(events: readonly GaplessEvent[], state = memoryState()) {
  const printed: string[] = [];
  const print = (text: string) => void printed.push(text.split('\n')[0] ?? '');
  const headSeq = events.length;
  const feed: Feed = {
    page: ({ since, limit }) => {
      const page = events.slice(since, since + (limit ?? headSeq));
      const nextSeq = since + page.length < headSeq ? since + page.length : null;
      return Promise.resolve({ events: page, nextSeq, oldestSeq: 1, headSeq });
    },
  };
  await state.cursor.save(0);
  const options = { orgId: ORG, feed, state, events: [QUEUED], printer: new EventPrinter(print), status: 200, print };
  return { consumption: new Consumption({ ...options, onReady: () => undefined }), printed };
}

/** Runs the consumption until the expectations are met. */
async function running(consumption: Consumption<undefined>, expectations: () => void | Promise<void>): Promise<void> {
  const stop = new AbortController();
  const run = consumption.run(stop.signal);
  await eventually(expectations);
  stop.abort();
  await run;
}

/** Handles both events. @returns the first line of each text that is printed */
async function printedOf(pushes: readonly GaplessEvent[]): Promise<readonly string[]> {
  const { consumption, printed } = await consuming([EXAMPLE, REAL]);
  for (const event of pushes) await consumption.take(event, PUSH);
  await running(consumption, () => {
    expect(printed.at(-1)).toMatch(/ALERT/);
  });
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

  it('whose push comes after it was read is printed once', async () => {
    const { consumption, printed } = await consuming([EXAMPLE, REAL]);
    await running(consumption, async () => {
      expect(printed.at(-1)).toMatch(/ALERT/);
      for (const attempt of [1, 2]) await consumption.take(EXAMPLE, { ...PUSH, attempt });
    });
    expect(printed.slice(-2)).toEqual([
      expect.stringMatching(/^#1 .* attempt 1 .*answered 200$/),
      expect.stringMatching(/^#1 .* attempt 2 .*answered 200 {2}handled before$/),
    ]);
  });
});

it('an example that could not be recorded is not called handled when it is pushed again', async () => {
  const state = memoryState();
  const { consumption, printed } = await consuming([EXAMPLE, REAL], state);
  await running(consumption, async () => {
    expect(printed.at(-1)).toMatch(/ALERT/);
    const once = jest.spyOn(state.dedup, 'once').mockRejectedValueOnce(new Error('the database is away'));
    await expect(consumption.take(EXAMPLE, PUSH)).rejects.toThrow('the database is away');
    await consumption.take(EXAMPLE, { ...PUSH, attempt: 2 });
    once.mockRestore();
  });
  expect(printed.at(-1)).toMatch(/^#1 .* attempt 2 .*answered 200$/);
});

describe('the pushes that wait for their turn', () => {
  const events = oneTo(5_000).map((seq) => aQueuedChat(seq, `evt_${seq}`));
  const last = aQueuedChat(5_001, 'evt_5001');

  it('are limited in number, and later events are read from the feed', async () => {
    const { consumption, printed } = await consuming([...events, last]);
    for (const event of [...events, last]) await consumption.take(event, PUSH);
    await running(consumption, () => {
      expect(printed).toContainEqual(expect.stringMatching(/^#5000 .*attempt 1/));
      expect(printed).toContainEqual(expect.stringMatching(/^#5001 .*read from the feed/));
    });
  });

  it('make room for others if their events were handled before a restart', async () => {
    const state = memoryState();
    for (const event of events) await state.dedup.once(event, () => Promise.resolve());
    const { consumption, printed } = await consuming([...events], state);
    for (const event of events) await consumption.take(event, PUSH);
    await running(consumption, async () => {
      if ((await state.cursor.load()) === 5_000) await consumption.take(last, PUSH);
      expect(printed).toContainEqual(expect.stringMatching(/^#5001 .*answered 200$/));
    });
  });
});
