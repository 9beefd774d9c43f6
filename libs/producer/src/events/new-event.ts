import type { EventDataByType, EventType, OrgWideEventType } from '../../../event-types/src/index.js';

/** The types that a product service may emit: all but `test`, which the test operation emits. */
export type EmittableEventType = Exclude<EventType, 'test'>;

interface NewEventOf<Type extends EmittableEventType> {
  readonly event: Type;
  /** The organization that it belongs to. */
  readonly org_id: string;
  /** The owning widget; for content, verification and fraud there is none. */
  readonly widget_id?: Type extends OrgWideEventType ? null : string | null;
  readonly data: EventDataByType[Type];
  /**
   * `evt_` and 16 … 64 letters and digits. Set it if a repeated submission must not become a second event. Otherwise
   * one is generated.
   */
  readonly id?: string;
  /** When it happened; now if not given. */
  readonly occurred_at?: string | Date;
}

/** An event to be emitted; its type decides the shape of `data`. */
export type NewEvent = { [Type in EmittableEventType]: NewEventOf<Type> }[EmittableEventType];
