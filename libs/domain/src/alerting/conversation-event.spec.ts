import { describe, expect, it } from '@jest/globals';
import { conversationData } from '../../../../test/support/conversations.js';
import { envelopeBytes } from '../events/index.js';
import type { EndpointId, EventId, OrgId, Seq } from '../kernel/index.js';
import { foldConversation } from './chat-queue.js';
import { isForQueue, readConversationEvent } from './conversation-event.js';

const ORG = '0f8fad5b-d9cb-469f-a165-70867728950e' as OrgId;
const OCCURRED_AT = '2026-06-01T12:00:00.250Z';

function read(event: string, data: unknown, targetEndpoint: EndpointId | null = null) {
  const named = { orgId: ORG, id: 'evt_0000000000000001' as EventId, seq: 7 as Seq, event, widgetId: null };
  const envelope = envelopeBytes({ ...named, occurredAt: OCCURRED_AT, dataJson: JSON.stringify(data) });
  return readConversationEvent({ ...named, targetEndpoint, traceparent: null, envelope });
}

function snapshotOf(data: unknown) {
  return foldConversation(undefined, read('conversation.handed_off', data)!, null).waiting?.snapshot;
}

describe('readConversationEvent', () => {
  it.each([
    ['conversation.handed_off', { kind: 'entered' }],
    ['conversation.transferred', { kind: 'transferred' }],
    ['conversation.picked_up', { kind: 'left', how: 'picked_up' }],
    ['conversation.abandoned', { kind: 'left', how: 'abandoned' }],
    ['conversation.completed', { kind: 'left', how: 'completed' }],
    ['conversation.queued', { kind: 'alerted', stage: 1 }],
    ['conversation.queued.escalated', { kind: 'alerted', stage: 2 }],
  ])('knows what %s means for the queue', (event, change) => {
    expect(read(event, conversationData('cnv_1'))).toMatchObject({
      conversationId: 'cnv_1',
      seq: 7,
      occurredAtMs: Date.parse(OCCURRED_AT),
      change,
    });
  });

  it.each(['conversation.created', 'ticket.created', 'lead.created'])('has no use for %s', (event) => {
    expect(read(event, conversationData('cnv_1'))).toBeUndefined();
  });

  it.each([
    ['no conversation', {}],
    ['no id', { conversation: { subject: 'Help' } }],
    ['a number for an id', { conversation: { id: 5 } }],
    ['an empty id', { conversation: { id: '' } }],
    ['an id that no database takes', { conversation: { id: 'a\u0000b' } }],
    ['an id that no index takes', { conversation: { id: 'x'.repeat(256) } }],
    ['a list for a conversation', { conversation: [] }],
  ])('cannot keep a conversation with %s', (_what, data) => {
    expect(read('conversation.handed_off', data)).toBeUndefined();
  });

  it('keeps the members of contract 3.3 of a hand-off, and no others', () => {
    const data = conversationData('cnv_1');
    expect(snapshotOf({ ...data, extra: 1, visitor: { ...data.visitor, tags: ['vip'] } })).toEqual({
      subject: data.conversation.subject,
      firstMessage: data.conversation.first_message,
      url: data.conversation.url,
      widget: data.widget,
      channel: 'widget',
      department: data.department,
      visitor: data.visitor,
    });
  });

  it('puts what a careless producer left out as empty as the schema takes it', () => {
    const sent = {
      conversation: { id: 'cnv/1', subject: 5, url: '' },
      widget: 'Shop',
      channel: '',
      visitor: { name: 'J' },
    };
    expect(snapshotOf(sent)).toEqual({
      subject: '',
      firstMessage: null,
      url: '/conversations/cnv%2F1',
      widget: null,
      channel: 'widget',
      department: null,
      visitor: { id: 'unknown' },
    });
  });

  it.each([
    ['the department that it names', {}, { id: 'dep_7', name: 'Shipping' }],
    [
      'the department that it went to',
      { transferred_to: { type: 'department', id: 'dep_9', name: 'Returns' } },
      { id: 'dep_9', name: 'Returns' },
    ],
    [
      'the department that it names, when it went to an agent',
      { transferred_to: { type: 'agent', id: 'usr_1', name: 'M' } },
      { id: 'dep_7', name: 'Shipping' },
    ],
  ])('takes from a transfer %s', (_what, more, department) => {
    const event = read('conversation.transferred', { ...conversationData('cnv_1'), ...more });
    expect(event?.change).toMatchObject({ snapshot: { department } });
  });

  it('takes only what a transfer has, if it has little', () => {
    expect(read('conversation.transferred', { conversation: { id: 'cnv_1' } })?.change).toEqual({
      kind: 'transferred',
      snapshot: {},
    });
  });

  it('has no effect if it is for one endpoint alone, as an example is', () => {
    const data = { conversation: { id: 'cnv_1' } };
    expect(read('conversation.handed_off', data)).toBeDefined();
    expect(read('conversation.handed_off', data, 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG' as EndpointId)).toBeUndefined();
  });
});

describe('isForQueue', () => {
  it('knows the types that change a queue, but for events for one endpoint alone', () => {
    const id = 'evt_0000000000000001' as EventId;
    const of = (event: string, targetEndpoint: EndpointId | null = null) => isForQueue({ id, event, targetEndpoint });
    expect(of('conversation.handed_off')).toBe(true);
    expect(of('conversation.created')).toBe(false);
    expect(of('conversation.handed_off', 'whe_00000000000000000000000001' as EndpointId)).toBe(false);
  });

  it('knows an example without a target, as a repair puts it back', () => {
    const id = 'evt_EXAMPLE0000000000000001' as EventId;
    expect(isForQueue({ id, event: 'conversation.handed_off', targetEndpoint: null })).toBe(false);
  });
});
