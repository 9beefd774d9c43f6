import { describe, expect, it } from '@jest/globals';
import { aConversationId, handedOff, HANDED_OFF_AT_MS, happened } from '../../../../test/support/conversations.js';
import type { EventId } from '../kernel/index.js';
import { foldConversation, type WaitingConversation } from './chat-queue.js';
import type { ConversationEvent } from './conversation-event.js';
import type { SnapshotChange } from './conversation-snapshot.js';

function fold(events: readonly ConversationEvent[]): WaitingConversation | undefined {
  return events.reduce<WaitingConversation | undefined>(
    (waiting, event) => foldConversation(waiting, event, null).waiting,
    undefined,
  );
}

const alerted = (stage: 1 | 2, seq: number) => happened({ kind: 'alerted', stage }, { seq, afterSeconds: seq });
const left = (how: 'picked_up' | 'abandoned' | 'completed', seq: number) =>
  happened({ kind: 'left', how }, { seq, afterSeconds: seq });

describe('a conversation in the queue', () => {
  it('waits from the occurrence of its hand-off, alerted for nothing', () => {
    expect(fold([handedOff()])).toMatchObject({
      conversationId: aConversationId(),
      entry: handedOff().id,
      waitingSinceMs: HANDED_OFF_AT_MS,
      stage: 0,
    });
  });

  it.each(['picked_up', 'abandoned', 'completed'] as const)('leaves it when it is %s, which ends the stay', (how) => {
    const before = fold([handedOff(), alerted(1, 2)]);
    expect(foldConversation(before, left(how, 3), null)).toEqual({
      waiting: undefined,
      ended: { entry: handedOff().id, how, atMs: HANDED_OFF_AT_MS + 3_000 },
    });
  });

  it.each(['picked_up', 'abandoned', 'completed'] as const)('may be %s without ever having waited', (how) => {
    expect(foldConversation(undefined, left(how, 1), null)).toEqual({ waiting: undefined, ended: undefined });
  });

  it('has the stages that its events name, and never loses one', () => {
    expect(fold([handedOff(), alerted(1, 2)])).toMatchObject({ stage: 1 });
    expect(fold([handedOff(), alerted(1, 2), alerted(2, 3)])).toMatchObject({ stage: 2 });
    expect(fold([handedOff(), alerted(2, 2), alerted(1, 3)])).toMatchObject({ stage: 2 });
  });

  it('is not put in the queue by an alert', () => {
    expect(fold([alerted(1, 1)])).toBeUndefined();
  });

  it('starts over when it is handed off again: a new stay, a new wait, nothing alerted', () => {
    const again = handedOff({ seq: 4, afterSeconds: 100 });
    const expected = { entry: again.id, waitingSinceMs: HANDED_OFF_AT_MS + 100_000, stage: 0 };
    expect(fold([handedOff(), alerted(2, 2), left('picked_up', 3), again])).toMatchObject(expected);
    const whileWaiting = foldConversation(fold([handedOff(), alerted(2, 2)]), again, null);
    expect(whileWaiting.waiting).toMatchObject(expected);
    expect(whileWaiting.ended).toMatchObject({ entry: handedOff().id, how: 'handed_off' });
  });

  it('keeps its texts as they are while an alerting event can repeat them, and shortens them then', () => {
    const transferred = (seq: number, snapshot: SnapshotChange) => happened({ kind: 'transferred', snapshot }, { seq });
    const known = { subject: 's'.repeat(200 * 1024), widget: { id: 'wid_1', name: 'Shop' } };
    const one = [handedOff(), transferred(2, known)];
    expect(fold(one)?.snapshot).toMatchObject(known);
    const control = '\u0001'.repeat(256 * 1024);
    const visitor = { id: control, name: control, email: control, verified: true, locale: control, country: control };
    const place = { id: control, name: control };
    const texts = { firstMessage: control, url: control, channel: control, widget: place, department: place, visitor };
    const shortened = fold([...one, transferred(3, texts)])?.snapshot;
    expect(JSON.stringify(shortened).length).toBeLessThan(255 * 1024);
    expect(shortened).toMatchObject({ subject: known.subject.slice(0, 2_600), visitor: { verified: true } });
    const split = fold([...one, transferred(3, { firstMessage: `${'a'.repeat(2_599)}${'😀'.repeat(64 * 1024)}` })]);
    expect(split?.snapshot.firstMessage).toBe('a'.repeat(2_599));
  });

  it('is not alerted by the event of an earlier stay that comes late', () => {
    const again = fold([handedOff(), left('picked_up', 2), handedOff({ seq: 3 })]);
    expect(foldConversation(again, alerted(1, 4), handedOff().id).waiting).toEqual(again);
    expect(foldConversation(again, alerted(1, 4), handedOff({ seq: 3 }).id).waiting).toMatchObject({ stage: 1 });
    expect(foldConversation(again, alerted(1, 4), null).waiting).toMatchObject({ stage: 1 });
  });

  it('changes its snapshot when it is transferred, and keeps its wait and its stage', () => {
    const department = { id: 'dep_9', name: 'Returns' };
    const transferred = happened({ kind: 'transferred', snapshot: { department } }, { seq: 3, afterSeconds: 50 });
    const before = fold([handedOff(), alerted(1, 2)])!;
    expect(foldConversation(before, transferred, null)).toEqual({
      waiting: { ...before, seq: 3, snapshot: { ...before.snapshot, department } },
      ended: undefined,
    });
    expect(foldConversation(undefined, transferred, null).waiting).toBeUndefined();
  });

  it('comes to the same when the log is folded again', () => {
    const log = [handedOff(), alerted(1, 2), left('abandoned', 3), handedOff({ seq: 4 }), alerted(1, 5)];
    expect(fold(log)).toEqual(fold(log));
    expect(fold(log)?.entry).toBe(`evt_${'4'.padStart(26, '0')}` as EventId);
  });
});
