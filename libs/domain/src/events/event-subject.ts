import { catalogEntry, isEventType } from './catalog.js';

/** The longest id of a subject, in characters. */
export const MAX_SUBJECT_LENGTH = 200;

/** Reads the value at a path of the catalog, such as `conversation.id`; `undefined` if there is none. */
function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const name of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}

/**
 * Returns the id of what an event is about, such as its conversation, ticket or article. Producers choose most payloads
 * freely, so the id may be missing: then, and for types without a subject, it is `null`.
 */
export function subjectOf(event: string, data: unknown): string | null {
  const path = isEventType(event) ? catalogEntry(event).subject : null;
  const id = path === null ? undefined : valueAt(data, path);
  if (typeof id === 'number') return String(id);
  return typeof id === 'string' && id !== '' && id.length <= MAX_SUBJECT_LENGTH ? id : null;
}
