import { isExampleId, type EventType, type JsonObject, type LogEvent } from '../events/index.js';
import type { ConversationId, EventId, OrgId, Seq, WidgetId } from '../kernel/index.js';
import { conversationIdIn, readSnapshotChange, type SnapshotChange } from './conversation-snapshot.js';

/** How a conversation leaves its org's queue (contract 7.4). */
export type Departure = 'picked_up' | 'abandoned' | 'completed';

/** The effect of a log event on the queue of its org. */
export type QueueChange =
  | { readonly kind: 'entered'; readonly snapshot: SnapshotChange }
  | { readonly kind: 'transferred'; readonly snapshot: SnapshotChange }
  | { readonly kind: 'left'; readonly how: Departure }
  | { readonly kind: 'alerted'; readonly stage: 1 | 2 };

/** An event of the log that concerns a queue. */
export interface ConversationEvent {
  readonly orgId: OrgId;
  readonly conversationId: ConversationId;
  readonly id: EventId;
  readonly seq: Seq;
  readonly widgetId: WidgetId | null;
  readonly occurredAtMs: number;
  readonly change: QueueChange;
}

/** The kinds of `QueueChange`, by the events that make them. */
const CHANGES: ReadonlyMap<string, (data: JsonObject) => QueueChange> = new Map<
  EventType,
  (data: JsonObject) => QueueChange
>([
  ['conversation.handed_off', (data) => ({ kind: 'entered', snapshot: readSnapshotChange(data) })],
  ['conversation.transferred', (data) => ({ kind: 'transferred', snapshot: readSnapshotChange(data) })],
  ['conversation.picked_up', () => ({ kind: 'left', how: 'picked_up' })],
  ['conversation.abandoned', () => ({ kind: 'left', how: 'abandoned' })],
  ['conversation.completed', () => ({ kind: 'left', how: 'completed' })],
  ['conversation.queued', () => ({ kind: 'alerted', stage: 1 })],
  ['conversation.queued.escalated', () => ({ kind: 'alerted', stage: 2 })],
]);

/**
 * Whether an event of that type is meant for a queue. One for an endpoint alone is a test or an example: nobody waits. A
 * repair puts an example back without its target.
 */
export function isForQueue(event: Pick<LogEvent, 'id' | 'event' | 'targetEndpoint'>): boolean {
  return CHANGES.has(event.event) && event.targetEndpoint === null && !isExampleId(event.id);
}

/**
 * Reads the effect of the event on its org's queue.
 * @returns `undefined` if it concerns no queue, is a test or an example, or has no conversation id that can be stored
 */
export function readConversationEvent(event: LogEvent): ConversationEvent | undefined {
  const changeOf = CHANGES.get(event.event);
  if (changeOf === undefined || !isForQueue(event)) return undefined;
  const envelope = JSON.parse(event.envelope.toString()) as {
    readonly occurred_at: string;
    readonly data: JsonObject;
  };
  const conversationId = conversationIdIn(envelope.data);
  if (conversationId === undefined) return undefined;
  return {
    orgId: event.orgId,
    conversationId,
    id: event.id,
    seq: event.seq,
    widgetId: event.widgetId,
    occurredAtMs: Date.parse(envelope.occurred_at),
    change: changeOf(envelope.data),
  };
}
