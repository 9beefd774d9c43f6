import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { handedOff, HANDED_OFF_AT_MS } from '../../../../test/support/conversations.js';
import { foldConversation, type AlertStage, type WaitingConversation } from './chat-queue.js';
import { decideAlerts } from './decide-alerts.js';
import { DEFAULT_LIVE_CHAT_SETTINGS, type LiveChatSettings } from './live-chat-settings.js';

const settings = (first: number, second: number): LiveChatSettings => ({
  ...DEFAULT_LIVE_CHAT_SETTINGS,
  firstAlertSeconds: first,
  secondAlertSeconds: second,
});
const after = (seconds: number) => HANDED_OFF_AT_MS + seconds * 1_000;

function aWaiting(stage: AlertStage = 0, conversation = 1, sinceSeconds = 0): WaitingConversation {
  const event = handedOff({ conversation, seq: conversation, afterSeconds: sinceSeconds });
  return { ...foldConversation(undefined, event, null).waiting!, stage };
}

function stagesAt(seconds: number, stage: AlertStage = 0, by = DEFAULT_LIVE_CHAT_SETTINGS): readonly number[] {
  return decideAlerts({ depth: 1, waiting: [aWaiting(stage)] }, by, after(seconds)).map((alert) => alert.stage);
}

describe('decideAlerts', () => {
  it.each([
    [59.999, 0, []],
    [60, 0, [1]],
    [299.999, 0, [1]],
    [300, 0, [1, 2]],
    [299.999, 1, []],
    [300, 1, [2]],
    [100_000, 2, []],
    [-10, 0, []],
  ] as const)('after %d s and stage %d reached, raises %j', (seconds, stage, raised) => {
    expect(stagesAt(seconds, stage)).toEqual(raised);
  });

  it('goes by the settings of this moment, also for those who wait already', () => {
    expect(stagesAt(40, 0, settings(60, 300))).toEqual([]);
    expect(stagesAt(40, 0, settings(30, 300))).toEqual([1]);
    expect(stagesAt(40, 1, settings(30, 300))).toEqual([]);
    expect(stagesAt(40, 1, settings(30, 40))).toEqual([2]);
  });

  it('has the latest data, the time waited in whole seconds, and the number of waiting chats', () => {
    const waiting = aWaiting();
    const [alert] = decideAlerts({ depth: 7, waiting: [waiting] }, settings(60, 300), after(62.9));
    expect(alert).toMatchObject({
      event: 'conversation.queued',
      orgId: waiting.orgId,
      entry: waiting.entry,
      raisedAtMs: after(62.9),
      notifiesStaff: true,
      data: {
        conversation: {
          id: waiting.conversationId,
          subject: 'Where is my parcel?',
          status: 'waiting_for_agent',
          waited_seconds: 62,
          queue_depth: 7,
        },
        stage: 1,
      },
    });
    expect(alert?.data.conversation).not.toHaveProperty('first_message');
  });

  it('raises without a staff alert for an org that turned them off', () => {
    const silent = { ...DEFAULT_LIVE_CHAT_SETTINGS, staffAlerts: { enabled: false, emails: [] } };
    expect(decideAlerts({ depth: 1, waiting: [aWaiting()] }, silent, after(61))).toMatchObject([
      { notifiesStaff: false },
    ]);
  });

  it('names an alert by org, conversation, stay and stage alone', () => {
    const at = (waiting: WaitingConversation, seconds: number, depth: number) =>
      decideAlerts({ depth, waiting: [waiting] }, settings(1, 2), after(seconds)).map(({ eventId }) => eventId);
    const [first, second] = at(aWaiting(), 10, 1);
    expect(at(aWaiting(), 99, 8)).toEqual([first, second]);
    expect(at(aWaiting(1), 99, 8)).toEqual([second]);
    const others = [aWaiting(0, 2), { ...aWaiting(), entry: handedOff({ seq: 9 }).id }].flatMap((one) =>
      at(one, 99, 1),
    );
    expect(new Set([first, second, ...others]).size).toBe(6);
    expect(first).toMatch(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/);
  });

  it('decides about those who wait longest first, and about each in the order of the stages', () => {
    const waiting = [aWaiting(0, 1, 30), aWaiting(0, 2, 0), aWaiting(1, 3, 15)];
    const alerts = decideAlerts({ depth: 3, waiting }, settings(10, 20), after(100));
    expect(alerts.map(({ conversationId, stage }) => `${conversationId}/${stage}`)).toEqual([
      'cnv_2/1',
      'cnv_2/2',
      'cnv_3/2',
      'cnv_1/1',
      'cnv_1/2',
    ]);
  });

  it('raises each stage once and in order, however the sweeps fall and the settings change', () => {
    const sweep = fc.record({
      waitMs: fc.nat({ max: 100_000 }),
      first: fc.integer({ min: 1, max: 200 }),
      more: fc.nat(200),
    });
    fc.assert(
      fc.property(fc.array(sweep, { minLength: 1, maxLength: 20 }), (sweeps) => {
        let [waiting, nowMs] = [aWaiting(), HANDED_OFF_AT_MS];
        const raised: number[] = [];
        for (const { waitMs, first, more } of sweeps) {
          nowMs += waitMs;
          const alerts = decideAlerts({ depth: 1, waiting: [waiting] }, settings(first, first + 1 + more), nowMs);
          raised.push(...alerts.map(({ stage }) => stage));
          waiting = { ...waiting, stage: alerts.at(-1)?.stage ?? waiting.stage };
        }
        expect([[], [1], [1, 2]]).toContainEqual(raised);
      }),
    );
  });
});
