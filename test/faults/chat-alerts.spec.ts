import { describe, expect, it } from '@jest/globals';
import { alertProblems } from './chat-alerts.js';
import type { SubmittedChat } from './ledger.js';

const ORG = '0f8fad5b-d9cb-469f-a165-70867728950e';
const EVENTS = ['conversation.queued', 'conversation.queued.escalated'];

function anAlert(conversation: string, stage: 1 | 2, id = `evt_${conversation}_${stage}`) {
  const envelope = Buffer.from(JSON.stringify({ data: { conversation: { id: conversation } } }));
  return {
    record: { id, event: EVENTS[stage - 1]!, envelope },
    staff: { conversationId: conversation, stage, eventId: id },
  };
}

const submitted = (id: string) => ({ id, event: 'conversation.handed_off', envelope: Buffer.from('{}') });
const chats = new Map<string, SubmittedChat>([
  ['waits', { orgId: ORG, handedOff: 'evt_1', pickedUp: null }],
  ['answered', { orgId: ORG, handedOff: 'evt_2', pickedUp: 'evt_3' }],
  ['never came', { orgId: ORG, handedOff: 'evt_4', pickedUp: null }],
]);
const log = ['evt_1', 'evt_2', 'evt_3'].map(submitted);
const alerts = [anAlert('waits', 1), anAlert('waits', 2)];
const raised = [...log, ...alerts.map(({ record }) => record)];
const told = alerts.map(({ staff }) => staff);

describe('the alerts of chats', () => {
  it('are right when each is in the log and with the staff once', () => {
    expect(alertProblems(chats, raised, told)).toEqual([]);
  });

  it('are wrong when one is missing in the log, or with the staff', () => {
    expect(alertProblems(chats, raised.slice(0, -1), told)).toEqual([
      'alert 2 of waits is 0 times in the log and 1 times with the staff',
    ]);
    expect(alertProblems(chats, raised, told.slice(1))).toEqual([
      'alert 1 of waits is 1 times in the log and 0 times with the staff',
    ]);
  });

  it('are wrong when one comes twice', () => {
    expect(alertProblems(chats, raised, [...told, told[0]!])).toHaveLength(1);
    expect(alertProblems(chats, [...raised, anAlert('waits', 1, 'evt_other').record], told)).toHaveLength(1);
  });

  it('are wrong when the staff alert names another event', () => {
    expect(alertProblems(chats, raised, [{ ...told[0]!, eventId: 'evt_other' }, told[1]!])).toHaveLength(1);
  });

  it('are wrong when somebody has answered', () => {
    const { record, staff } = anAlert('answered', 1);
    expect(alertProblems(chats, [...raised, record], [...told, staff])).toEqual([
      'alert 1 of answered was raised, and nobody waited',
    ]);
  });

  it('may be there or not when the answer was never acknowledged', () => {
    const unsure = [...raised].filter(({ id }) => id !== 'evt_3');
    const both = [anAlert('answered', 1), anAlert('answered', 2)];
    expect(alertProblems(chats, unsure, told)).toEqual([]);
    expect(
      alertProblems(
        chats,
        [...unsure, ...both.map(({ record }) => record)],
        [...told, ...both.map(({ staff }) => staff)],
      ),
    ).toEqual([]);
  });
});
