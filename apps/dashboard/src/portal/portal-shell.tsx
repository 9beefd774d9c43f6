import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, type LinkProps } from '@tanstack/react-router';
import { useEffect } from 'react';
import { followChanges } from '../api/follow-changes.js';
import { organizationQuery } from '../api/queries.js';
import type { Scope } from '../api/resources.js';
import { ConnectionBanner } from '../shell/connection-banner.js';
import { useFocusOnNavigation } from '../shell/use-focus-on-navigation.js';
import { Icon, type IconName } from '../ui/icon.js';
import { portalSession } from './portal-session.js';
import { productName } from './product-name.js';
import '../shell/shell.css';
import './portal.css';

interface Place {
  readonly link: LinkProps;
  readonly icon: IconName;
  readonly text: string;
  /** The scope that its page needs; `null` for none. */
  readonly scope: Scope | null;
}

const PLACES: readonly Place[] = [
  { link: { to: '/endpoints' }, icon: 'endpoint', text: 'Endpoints', scope: 'webhooks:read' },
  { link: { to: '/events' }, icon: 'events', text: 'Events', scope: 'events:read' },
  { link: { to: '/catalog' }, icon: 'catalog', text: 'Event catalog', scope: null },
  { link: { to: '/alerts' }, icon: 'bell', text: 'Live-chat alerts', scope: 'settings:read' },
  { link: { to: '/keys' }, icon: 'key', text: 'API keys', scope: 'keys:write' },
  { link: { to: '/audit-log' }, icon: 'shield', text: 'Audit log', scope: 'keys:write' },
];

/** The frame of the portal's pages: what the product calls it, and only the pages that the session may use. */
export function PortalShell() {
  const main = useFocusOnNavigation();
  const queries = useQueryClient();
  useEffect(() => followChanges(queries), [queries]);
  const session = portalSession(queries);
  const { data: organization } = useQuery(organizationQuery());
  if (session === null) return null;
  const { branding, scopes, return_url: returnUrl, user_label: user } = session;
  const who = [organization?.name, user].filter((text) => text !== null && text !== undefined).join(' · ');
  return (
    <div className="portal">
      <a href="#main" className="skip-link">
        Skip to content
      </a>
      <header className="portal-header">
        <div className="portal-title">
          {branding.logo_url !== null && <img src={branding.logo_url} alt="" className="portal-logo" />}
          <strong>{productName()}</strong>
          {who !== '' && <span className="muted truncate">{who}</span>}
          {returnUrl !== null && (
            // The portal is often in a frame: the link is for the page around it.
            <a href={returnUrl} target="_top" rel="noreferrer" className="portal-return">
              <Icon name="leave" /> Back
            </a>
          )}
        </div>
        <nav aria-label="Main" className="portal-navigation">
          <ul>
            {PLACES.filter(({ scope }) => scope === null || scopes.includes(scope as (typeof scopes)[number])).map(
              ({ link, icon, text }) => (
                <li key={text}>
                  <Link {...link} className="navigation-link">
                    <Icon name={icon} />
                    {text}
                  </Link>
                </li>
              ),
            )}
          </ul>
        </nav>
      </header>
      <main id="main" ref={main} tabIndex={-1} className="main">
        <ConnectionBanner />
        <Outlet />
      </main>
    </div>
  );
}
