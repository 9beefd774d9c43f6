import type { ConversationId, EventId, OrgId, Seq, WidgetId } from '../kernel/index.js';
import type { ConversationEvent, Departure } from './conversation-event.js';
import { fittingSnapshot, wholeSnapshot, type ConversationSnapshot } from './conversation-snapshot.js';

/** The highest alert threshold that a conversation has been alerted for; 0: none. */
export type AlertStage = 0 | 1 | 2;

/** A conversation in its org's queue. */
export interface WaitingConversation {
  readonly orgId: OrgId;
  readonly conversationId: ConversationId;
  /** The hand-off that began this stay in the queue; its id identifies the stay. */
  readonly entry: EventId;
  /** `occurred_at` of the hand-off, in epoch milliseconds. */
  readonly waitingSinceMs: number;
  readonly stage: AlertStage;
  readonly widgetId: WidgetId | null;
  readonly snapshot: ConversationSnapshot;
  /** The seq of the last event that changed the conversation. */
  readonly seq: Seq;
}

/**
 * How a stay in the queue ended. `handed_off`: the conversation entered the queue again. `expired`: it waited for as long
 * as events are kept.
 */
export interface EndedEntry {
  readonly entry: EventId;
  readonly how: Departure | 'handed_off' | 'expired';
  readonly atMs: number;
}

/** The state of a conversation after an event: whether it waits now, and the stay that the event ended. */
export interface QueueFold {
  readonly waiting: WaitingConversation | undefined;
  readonly ended: EndedEntry | undefined;
}

function laterStage(one: AlertStage, other: AlertStage): AlertStage {
  return one > other ? one : other;
}

/**
 * Folds an event into its conversation's place in the queue (contract 7.4). Each hand-off begins a new stay without
 * alerts.
 * @param alertedEntry the stay that an alerting event is about; `null` if only its producer knows, then it counts for
 *   the present stay
 */
export function foldConversation(
  waiting: WaitingConversation | undefined,
  event: ConversationEvent,
  alertedEntry: EventId | null,
): QueueFold {
  const { change } = event;
  const end = (how: EndedEntry['how']): EndedEntry | undefined =>
    waiting === undefined ? undefined : { entry: waiting.entry, how, atMs: event.occurredAtMs };
  switch (change.kind) {
    case 'entered':
      return {
        waiting: {
          orgId: event.orgId,
          conversationId: event.conversationId,
          entry: event.id,
          waitingSinceMs: event.occurredAtMs,
          stage: 0,
          widgetId: event.widgetId,
          snapshot: fittingSnapshot(wholeSnapshot(event.conversationId, change.snapshot)),
          seq: event.seq,
        },
        ended: end('handed_off'),
      };
    case 'left':
      return { waiting: undefined, ended: end(change.how) };
    case 'transferred':
      return {
        waiting: waiting && {
          ...waiting,
          widgetId: event.widgetId ?? waiting.widgetId,
          snapshot: fittingSnapshot({ ...waiting.snapshot, ...change.snapshot }),
          seq: event.seq,
        },
        ended: undefined,
      };
    case 'alerted': {
      const concerns = waiting !== undefined && (alertedEntry ?? waiting.entry) === waiting.entry;
      return {
        waiting: concerns ? { ...waiting, stage: laterStage(waiting.stage, change.stage), seq: event.seq } : waiting,
        ended: undefined,
      };
    }
  }
}
