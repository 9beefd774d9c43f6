import { catalogEntry, isEventType } from '../events/index.js';

/** The most characters of these arguments. Together, they make a filter of at most the length that endpoints may have. */
export const MAX_SUBJECT = 120;
export const MAX_FILTER = 1_500;

/** The arguments that leave out events by their contents. */
export interface ContentArguments {
  readonly subject?: string | undefined;
  readonly filter?: string | undefined;
}

/** Returns where events of the type have the id of their subject; `null` if they have none. */
export function subjectPath(name: string): string | null {
  return isEventType(name) ? catalogEntry(name).subject : null;
}

/**
 * Returns the one expression in CEL for both arguments; `null` for none. An event without the subject's member is not
 * about it, so each member on the way is asked for first.
 */
export function subscriptionFilter(name: string, { subject, filter }: ContentArguments): string | null {
  if (subject === undefined) return filter ?? null;
  const ofSubject = subjectFilter(name, subject);
  // The line break ends a comment.
  return filter === undefined ? ofSubject : `${ofSubject} && (${filter}\n)`;
}

function subjectFilter(name: string, subject: string): string {
  const members = subjectPath(name)?.split('.') ?? [];
  const paths = members.map((_, index) => ['event', 'data', ...members.slice(0, index + 1)].join('.'));
  return [...paths.map((path) => `has(${path})`), `${paths.at(-1) ?? 'null'} == ${JSON.stringify(subject)}`].join(
    ' && ',
  );
}
