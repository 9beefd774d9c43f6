import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Fragment, useEffect } from 'react';
import { followChanges } from '../api/follow-changes.js';
import { organizationQuery } from '../api/queries.js';
import { words } from '../session/wording.js';
import { AllowedOutlet } from '../shell/allowed-outlet.js';
import { ConnectionBanner } from '../shell/connection-banner.js';
import { Navigation } from '../shell/navigation.js';
import { placesInPortal } from '../shell/places.js';
import { SearchBox } from '../shell/search-box.js';
import { useFocusOnNavigation } from '../shell/use-focus-on-navigation.js';
import { Icon } from '../ui/icon.js';
import { Name } from '../ui/name.js';
import { portalSession } from './portal-session.js';
import '../shell/shell.css';
import './portal.css';

/** The frame of the portal's pages: what the product calls it, and only the pages that the session may use. */
export function PortalShell() {
  const main = useFocusOnNavigation();
  const queries = useQueryClient();
  useEffect(() => followChanges(queries), [queries]);
  const session = portalSession(queries);
  const { data: organization } = useQuery(organizationQuery());
  if (session === null) return null;
  const { branding, return_url: returnUrl, user_label: user } = session;
  const who = [organization?.name, user].filter((text) => typeof text === 'string');
  return (
    <div className="portal">
      <a href="#main" className="skip-link">
        Skip to content
      </a>
      <header className="portal-header">
        <div className="portal-title">
          {branding.logo_url !== null && <img src={branding.logo_url} alt="" className="portal-logo" />}
          <strong className="portal-name">
            <Name>{words().product}</Name>
          </strong>
          {who.length > 0 && (
            <span className="portal-who muted">
              {who.map((name, index) => (
                <Fragment key={index}>
                  {index > 0 && <span className="portal-who-between"> · </span>}
                  <Name>{name}</Name>
                </Fragment>
              ))}
            </span>
          )}
          <SearchBox />
          {returnUrl !== null && (
            // The portal is often in a frame: the link is for the page around it.
            <a href={returnUrl} target="_top" rel="noreferrer" className="portal-return">
              <Icon name="leave" /> Back
            </a>
          )}
        </div>
        <Navigation places={placesInPortal(session)} className="portal-navigation" />
      </header>
      <main id="main" ref={main} tabIndex={-1} className="main">
        <ConnectionBanner />
        <AllowedOutlet />
      </main>
    </div>
  );
}
