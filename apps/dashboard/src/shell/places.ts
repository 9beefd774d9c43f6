import type { LinkProps } from '@tanstack/react-router';
import type { Scope, Session } from '../api/resources.js';
import type { IconName } from '../ui/icon.js';

/** A page that the navigation lists. */
export interface Place {
  readonly link: LinkProps & {
    readonly to:
      | '/'
      | '/endpoints'
      | '/events'
      | '/cursors'
      | '/agents'
      | '/catalog'
      | '/alerts'
      | '/keys'
      | '/audit-log'
      | '/samples';
  };
  readonly icon: IconName;
  readonly text: string;
  /** The scope without which the page shows nothing. */
  readonly scope?: Scope;
  /** Whether the portal of a product has it too. */
  readonly inPortal?: true;
}

const PLACES: readonly Place[] = [
  {
    link: { to: '/', activeOptions: { exact: true } },
    icon: 'overview',
    text: 'Overview',
    scope: 'webhooks:read',
  },
  { link: { to: '/endpoints' }, icon: 'endpoint', text: 'Endpoints', scope: 'webhooks:read', inPortal: true },
  { link: { to: '/events' }, icon: 'events', text: 'Events', scope: 'events:read', inPortal: true },
  { link: { to: '/cursors' }, icon: 'readers', text: 'Feed readers', scope: 'events:read' },
  { link: { to: '/agents' }, icon: 'send', text: 'Agents', scope: 'webhooks:read' },
  { link: { to: '/catalog' }, icon: 'catalog', text: 'Event catalog', inPortal: true },
  { link: { to: '/alerts' }, icon: 'bell', text: 'Live-chat alerts', scope: 'settings:read', inPortal: true },
  { link: { to: '/keys' }, icon: 'key', text: 'API keys', scope: 'keys:write', inPortal: true },
  { link: { to: '/audit-log' }, icon: 'shield', text: 'Audit log', scope: 'keys:write', inPortal: true },
  { link: { to: '/samples' }, icon: 'code', text: 'Code samples' },
];

type Access = Pick<Session, 'scopes' | 'live_chat_alerts'>;

/** Returns the pages that the session can use. */
export function placesFor({ scopes, live_chat_alerts: hasAlerts }: Access): readonly Place[] {
  return PLACES.filter(
    ({ scope, link }) => (scope === undefined || scopes.includes(scope)) && (link.to !== '/alerts' || hasAlerts),
  );
}

/** Returns the pages of the portal that the session can use. */
export function placesInPortal(session: Access): readonly Place[] {
  return placesFor(session).filter(({ inPortal }) => inPortal);
}

/** Returns the page that a link to the portal leads to. */
export function homeInPortal(session: Access): Place['link']['to'] {
  return placesInPortal(session)[0]?.link.to ?? '/catalog';
}

/** Returns the page that a sign-in leads to: the overview, or the first one that the key can use. */
export function homeOf(session: Access): Place['link']['to'] {
  return placesFor(session)[0]?.link.to ?? '/samples';
}
