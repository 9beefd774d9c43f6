import type { EventType } from '../api/resources.js';

/** Event types that belong together. */
export interface EventFamily {
  readonly family: EventType['family'];
  readonly title: string;
  readonly types: readonly EventType[];
}

const TITLES: Readonly<Record<EventType['family'], string>> = {
  conversation: 'Live-chat conversations',
  ticket: 'Tickets',
  visitor: 'Visitors and leads',
  call_request: 'Call requests',
  verification: 'Identity verification and fraud',
  help_desk_content: 'Help desk content',
  operations: 'Endpoints and deliveries',
  test: 'Test',
};

/**
 * Returns the types that are worth a subscription: not `test`, which needs none, and not deprecated ones, which are
 * never emitted.
 */
export function subscribableTypes(types: readonly EventType[]): readonly EventType[] {
  return types.filter(({ event, deprecated }) => event !== 'test' && !deprecated);
}

/**
 * Groups the types by family, in the catalog's order. Keeps only types whose name or description has every word of the
 * search.
 */
export function familiesOf(types: readonly EventType[], search = ''): readonly EventFamily[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = types.filter(({ event, description, family }) => {
    const text = `${event} ${description} ${TITLES[family]}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return [...new Set(found.map(({ family }) => family))].map((family) => ({
    family,
    title: TITLES[family],
    types: found.filter((type) => type.family === family),
  }));
}

/** Org-wide events reach every endpoint that subscribes to them, whatever its widget scope. */
export function isOrgWide({ scope }: EventType): boolean {
  return scope === 'org';
}
