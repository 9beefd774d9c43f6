import { describe, expect, it } from '@jest/globals';
import type { EventType, GaplessEvent } from '#libs/consumer';
import { catalogEntry } from '#libs/domain';
import { alertText, Alerts } from './alerts.js';

/** The catalog's example, of a conversation of its own. By default, it happened after those with a lower seq. */
function anEvent(seq: number, type: EventType, conversationId = 'cnv_1', atSeconds = seq): GaplessEvent {
  const data = structuredClone(catalogEntry(type).example) as { conversation?: object };
  if (data.conversation !== undefined) data.conversation = { ...data.conversation, id: conversationId };
  const occurredAt = new Date(atSeconds * 1_000).toISOString();
  return { seq, event: type, occurred_at: occurredAt, data } as unknown as GaplessEvent;
}

describe('alert pairs', () => {
  const follow = (events: readonly GaplessEvent[]): readonly string[] => {
    const alerts = new Alerts();
    return events.flatMap((event) => {
      const change = alerts.follow(event);
      return change === undefined ? [] : [alertText(change, alerts.count).trimEnd()];
    });
  };

  it('are raised, escalated and cleared', () => {
    const events = [
      anEvent(3, 'conversation.queued'),
      anEvent(4, 'ticket.created'),
      anEvent(5, 'conversation.queued.escalated'),
      anEvent(9, 'conversation.picked_up'),
    ];
    expect(follow(events)).toEqual([
      '▲  ALERT  cnv_1 "Where is my parcel?"  waiting for 62 s  1 open',
      '▲▲ URGENT  cnv_1 "Where is my parcel?"  waiting for 301 s  1 open',
      '▼  CLEAR  cnv_1 "Where is my parcel?"  picked up by Mara Lindt  raised by #3, escalated by #5, cleared by #9  0 open',
    ]);
  });

  it('are kept apart by conversation, and abandoned ones are cleared as well', () => {
    const events = [
      anEvent(1, 'conversation.queued', 'cnv_1'),
      anEvent(2, 'conversation.queued', 'cnv_2'),
      anEvent(3, 'conversation.abandoned', 'cnv_1'),
    ];
    expect(follow(events).at(-1)).toBe(
      '▼  CLEAR  cnv_1 "Where is my parcel?"  abandoned  raised by #1, cleared by #3  1 open',
    );
  });

  it('may be cleared without a raise (contract 7.2)', () => {
    expect(follow([anEvent(2, 'conversation.picked_up')])).toEqual([
      '▼  CLEAR  cnv_1 "Where is my parcel?"  picked up by Mara Lindt  no alert was raised  0 open',
    ]);
  });

  it('are not raised by what happened before the last clear (contract 7.2)', () => {
    const events = [
      anEvent(2, 'conversation.picked_up', 'cnv_1', 100),
      anEvent(3, 'conversation.queued', 'cnv_1', 99),
      anEvent(4, 'conversation.queued.escalated', 'cnv_1', 99),
      anEvent(5, 'conversation.queued', 'cnv_2', 99),
    ];
    expect(follow(events)).toEqual([
      '▼  CLEAR  cnv_1 "Where is my parcel?"  picked up by Mara Lindt  no alert was raised  0 open',
      '–  LATE  cnv_1 "Where is my parcel?"  raised before its last clear  0 open',
      '–  LATE  cnv_1 "Where is my parcel?"  raised before its last clear  0 open',
      '▲  ALERT  cnv_2 "Where is my parcel?"  waiting for 62 s  1 open',
    ]);
  });

  it('print no text of visitors and agents that controls the terminal', () => {
    const control = '\u001b[2J\r\n\u007f\u009b';
    const event = anEvent(1, 'conversation.picked_up', `cnv_1${control}`);
    Object.assign((event.data as { conversation: object }).conversation, { subject: `Hello${control}` });
    Object.assign((event.data as { picked_up_by: object }).picked_up_by, { name: `Mara${control}` });
    const cleaned = '�[2J����';
    expect(follow([event])).toEqual([
      `▼  CLEAR  cnv_1${cleaned} "Hello${cleaned}"  picked up by Mara${cleaned}  no alert was raised  0 open`,
    ]);
  });

  it('begin again when the conversation is queued again', () => {
    const queuedAgain = [anEvent(1, 'conversation.queued'), anEvent(2, 'conversation.picked_up')];
    expect(follow([...queuedAgain, anEvent(7, 'conversation.queued'), anEvent(8, 'conversation.abandoned')])).toContain(
      '▼  CLEAR  cnv_1 "Where is my parcel?"  abandoned  raised by #7, cleared by #8  0 open',
    );
  });
});
