import { randomUUID } from 'node:crypto';
import { parseOrgId, parseWidgetId, systemClock, type EventId, type OrgId, type WidgetId } from '#libs/domain';
import { Identifiers } from '#libs/runtime';

const identifiers = new Identifiers(systemClock);

/** An organization that nobody else uses. */
export function anOrgId(): OrgId {
  return parseOrgId(randomUUID())!;
}

export function aWidgetId(): WidgetId {
  return parseWidgetId(randomUUID())!;
}

/** An event id as a producer may bring it. */
export function anEventId(): EventId {
  return identifiers.eventId();
}
