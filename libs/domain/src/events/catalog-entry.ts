import type { JsonObject } from './data-schemas/json-schema.js';

/** The families of contract 7.1. */
export type EventFamily =
  'conversation' | 'ticket' | 'visitor' | 'call_request' | 'verification' | 'help_desk_content' | 'operations' | 'test';

/** `widget`: the event may name its owning widget. `org`: it is org-wide, and its `widget_id` is null (contract 7.3). */
export type EventScope = 'widget' | 'org';

/** One event type as `GET /external/event-types` lists it (contract 5.7). */
export interface CatalogEntry<Event extends string = string> {
  readonly event: Event;
  readonly family: EventFamily;
  /** When the event happens. */
  readonly description: string;
  readonly scope: EventScope;
  /** Kept so that old subscriptions stay valid; never emitted. */
  readonly deprecated: boolean;
  /** Raised by Gapless itself, in the operations organization alone (contract 7.5). */
  readonly operational: boolean;
  /** Where `data` has the id of the thing that the event is about, such as `conversation.id`; `null` if of no single one. */
  readonly subject: string | null;
  /** JSON Schema 2020-12 of the envelope's `data`. */
  readonly schema: JsonObject;
  /** A whole `data` that the schema accepts. */
  readonly example: JsonObject;
}

/**
 * What differs between the entries of a family. `schema` defaults to any object, `subject` to that of the family,
 * `deprecated` to false.
 */
interface FamilyMember<Event extends string> {
  readonly event: Event;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly subject?: string | null;
  readonly schema?: JsonObject;
  readonly example: JsonObject;
}

/** The entries of one family, in the order given. */
export function familyOf<const Event extends string>(
  shared: {
    readonly family: EventFamily;
    readonly scope: EventScope;
    readonly subject: string | null;
    readonly openSchema: JsonObject;
  },
  members: readonly FamilyMember<Event>[],
): readonly CatalogEntry<Event>[] {
  return members.map(
    ({
      event,
      description,
      deprecated = false,
      subject = shared.subject,
      schema = shared.openSchema,
      example,
    }): CatalogEntry<Event> => ({
      event,
      family: shared.family,
      description,
      scope: shared.scope,
      deprecated,
      operational: shared.family === 'operations',
      subject,
      schema,
      example,
    }),
  );
}
