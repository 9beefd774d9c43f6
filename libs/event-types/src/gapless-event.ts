import type { EventDataByType, OrgWideEventType } from './event-data.js';

/** The types that an event can have: the catalog (contract 7.1) and `test`. */
export type EventType = keyof EventDataByType;

/** An event of one type, as pushes and the feed carry it (contract 3.2). */
export interface EventEnvelope<Type extends EventType> {
  /** Stable and unique in the organization: deduplicate on it. */
  readonly id: string;
  /** 1, 2, 3 … in each organization, without a gap. */
  readonly seq: number;
  readonly event: Type;
  /** When the thing happened, ISO 8601. */
  readonly occurred_at: string;
  /** @deprecated the same as `occurred_at` */
  readonly timestamp: string;
  readonly org_id: string;
  /** The owning widget; null for org-wide events. */
  readonly widget_id: Type extends OrgWideEventType ? null : string | null;
  readonly data: EventDataByType[Type];
}

/**
 * Any event. `event` is its type, and narrows `data`: `if (event.event === 'conversation.queued') event.data.stage`.
 * Later versions of the service add types, so handle types that are not listed here.
 */
export type GaplessEvent = { [Type in EventType]: EventEnvelope<Type> }[EventType];
