import { derivedEventId, type ConversationId, type EventId, type OrgId, type WidgetId } from '../kernel/index.js';
import type { WaitingConversation } from './chat-queue.js';
import type { IdAndName, Visitor } from './conversation-snapshot.js';

/** `data` of an alerting event and of its staff alert (contract 3.3). */
export interface AlertData {
  readonly conversation: {
    readonly id: ConversationId;
    readonly subject: string;
    readonly first_message?: string;
    readonly status: 'waiting_for_agent';
    readonly waited_seconds: number;
    readonly queue_depth: number;
    readonly url: string;
  };
  readonly widget: IdAndName | null;
  readonly channel: string;
  readonly department: IdAndName | null;
  readonly visitor: Visitor;
  readonly stage: 1 | 2;
}

/** The decision that a conversation crossed a threshold. It results in one event and one staff alert. */
export interface Alert {
  readonly eventId: EventId;
  readonly event: 'conversation.queued' | 'conversation.queued.escalated';
  readonly orgId: OrgId;
  readonly conversationId: ConversationId;
  /** The stay in the queue that the alert is about. */
  readonly entry: EventId;
  readonly stage: 1 | 2;
  readonly widgetId: WidgetId | null;
  readonly raisedAtMs: number;
  readonly data: AlertData;
  /** Whether staff gets an alert besides the event. False if the org has turned off staff alerts. */
  readonly notifiesStaff: boolean;
}

/** Returns the event's id. The same crossing always gets the same id, in any process (contract 7.4). */
export function alertEventId(
  { orgId, conversationId, entry }: Pick<WaitingConversation, 'orgId' | 'conversationId' | 'entry'>,
  stage: 1 | 2,
): EventId {
  return derivedEventId('alert', orgId, conversationId, entry, String(stage));
}

/** Makes the alert of a conversation that waited longer than the stage's threshold. */
export function raiseAlert(
  waiting: WaitingConversation,
  stage: 1 | 2,
  raised: { readonly atMs: number; readonly queueDepth: number; readonly notifiesStaff: boolean },
): Alert {
  const { snapshot, conversationId: id } = waiting;
  const eventId = alertEventId(waiting, stage);
  return {
    eventId,
    event: stage === 1 ? 'conversation.queued' : 'conversation.queued.escalated',
    orgId: waiting.orgId,
    conversationId: id,
    entry: waiting.entry,
    stage,
    widgetId: waiting.widgetId,
    raisedAtMs: raised.atMs,
    data: {
      conversation: {
        id,
        subject: snapshot.subject,
        ...(snapshot.firstMessage === null ? {} : { first_message: snapshot.firstMessage }),
        status: 'waiting_for_agent',
        waited_seconds: Math.max(0, Math.floor((raised.atMs - waiting.waitingSinceMs) / 1_000)),
        queue_depth: raised.queueDepth,
        url: snapshot.url,
      },
      widget: snapshot.widget,
      channel: snapshot.channel,
      department: snapshot.department,
      visitor: snapshot.visitor,
      stage,
    },
    notifiesStaff: raised.notifiesStaff,
  };
}
