import {
  parseConversationId,
  parseEventId,
  type ConversationEvent,
  type ConversationId,
  type OrgId,
  type QueueChange,
  type Seq,
} from '#libs/domain';

/** When the conversations of these builders were handed off, in epoch milliseconds. */
export const HANDED_OFF_AT_MS = Date.UTC(2026, 5, 1, 12);

const ORG = '0f8fad5b-d9cb-469f-a165-70867728950e' as OrgId;

/** The nth conversation. */
export function aConversationId(nth = 1): ConversationId {
  return parseConversationId(`cnv_${nth}`)!;
}

interface Happening {
  readonly orgId?: OrgId;
  readonly conversation?: number;
  /** Its place in the log; it names the event, too. */
  readonly seq?: number;
  readonly afterSeconds?: number;
}

/** Something that happened to a conversation, so many seconds after the usual hand-off. */
export function happened(change: QueueChange, happening: Happening = {}): ConversationEvent {
  const { orgId = ORG, conversation = 1, seq = 1, afterSeconds = 0 } = happening;
  return {
    orgId,
    conversationId: aConversationId(conversation),
    id: parseEventId(`evt_${String(seq).padStart(26, '0')}`)!,
    seq: seq as Seq,
    widgetId: null,
    occurredAtMs: HANDED_OFF_AT_MS + afterSeconds * 1_000,
    change,
  };
}

export function handedOff(happening: Happening = {}): ConversationEvent {
  return happened({ kind: 'entered', snapshot: { subject: 'Where is my parcel?' } }, happening);
}

/** `data` of a conversation event as product services submit it (contract 3.3), with every member. */
export function conversationData(id: string, changes: Readonly<Record<string, unknown>> = {}) {
  return {
    conversation: {
      id,
      subject: 'Where is my parcel?',
      first_message: 'Hello, my order 10042 has not arrived.',
      status: 'waiting_for_agent',
      waited_seconds: 0,
      queue_depth: 3,
      url: `https://dashboard.example.com/conversations/${id}`,
      ...changes,
    },
    widget: { id: '0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21', name: 'Shop' },
    channel: 'widget',
    department: { id: 'dep_7', name: 'Shipping' },
    visitor: {
      id: 'vis_88213',
      name: 'Jonas Weber',
      email: 'jonas.weber@example.com',
      verified: true,
      locale: 'de-DE',
      country: 'DE',
    },
  };
}
