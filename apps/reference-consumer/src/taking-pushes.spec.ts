import { describe, expect, it } from '@jest/globals';
import type { GaplessEvent } from '#libs/consumer';
import { EventPrinter } from './event-printer.js';
import { takingPushes } from './taking-pushes.js';

function aPush(attempt: number) {
  return { body: Buffer.from('{"id":"evt_1"}'), deliveryId: 'whd_1', attempt };
}

describe('a consumer without a feed', () => {
  it('prints an event once, however often it is pushed', async () => {
    const printed: string[] = [];
    const print = (text: string) => void printed.push(text.split('\n')[0] ?? '');
    const take = takingPushes({ printer: new EventPrinter(print), status: 200, print });
    const event = { id: 'evt_1', seq: 4, event: 'ticket.created', org_id: 'o' } as GaplessEvent;
    for (const attempt of [1, 2]) await take(event, aPush(attempt));
    expect(printed).toEqual([
      '#4  ticket.created  evt_1  attempt 1  signature verified ✓  answered 200',
      '#4  ticket.created  evt_1  attempt 2  signature verified ✓  answered 200  handled before',
    ]);
  });
});
