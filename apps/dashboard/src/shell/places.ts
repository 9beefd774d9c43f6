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
}

const PLACES: readonly Place[] = [
  {
    link: { to: '/', activeOptions: { exact: true } },
    icon: 'overview',
    text: 'Overview',
    scope: 'webhooks:read',
  },
  { link: { to: '/endpoints' }, icon: 'endpoint', text: 'Endpoints', scope: 'webhooks:read' },
  { link: { to: '/events' }, icon: 'events', text: 'Events', scope: 'events:read' },
  { link: { to: '/cursors' }, icon: 'readers', text: 'Feed readers', scope: 'events:read' },
  { link: { to: '/agents' }, icon: 'send', text: 'Agents', scope: 'webhooks:read' },
  { link: { to: '/catalog' }, icon: 'catalog', text: 'Event catalog' },
  { link: { to: '/alerts' }, icon: 'bell', text: 'Live-chat alerts', scope: 'settings:read' },
  { link: { to: '/keys' }, icon: 'key', text: 'API keys', scope: 'keys:write' },
  { link: { to: '/audit-log' }, icon: 'shield', text: 'Audit log', scope: 'keys:write' },
  { link: { to: '/samples' }, icon: 'code', text: 'Code samples' },
];

/** Returns the pages that the session's key can use. */
export function placesFor({ scopes, live_chat_alerts: hasAlerts }: Session): readonly Place[] {
  return PLACES.filter(
    ({ scope, link }) => (scope === undefined || scopes.includes(scope)) && (link.to !== '/alerts' || hasAlerts),
  );
}

/** Returns the page that a sign-in leads to: the overview, or the first one that the key can use. */
export function homeOf(session: Session): Place['link']['to'] {
  return placesFor(session)[0]?.link.to ?? '/samples';
}
