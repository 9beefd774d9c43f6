import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { followChanges } from '../api/follow-changes.js';
import { organizationQuery } from '../api/queries.js';
import { signOut } from '../session/session.js';
import { useSession } from '../session/use-session.js';
import { Button, IconButton } from '../ui/button.js';
import { toastFailure } from '../ui/toast-queue.js';
import { AllowedOutlet } from './allowed-outlet.js';
import { Brand } from './brand.js';
import { ConnectionBanner } from './connection-banner.js';
import { Navigation } from './navigation.js';
import { placesFor } from './places.js';
import { SearchBox } from './search-box.js';
import { ThemeSwitch } from './theme-switch.js';
import { useFocusOnNavigation } from './use-focus-on-navigation.js';
import './shell.css';

/** The frame of every page that needs a sign-in. */
export function Shell() {
  const main = useFocusOnNavigation();
  const queries = useQueryClient();
  useEffect(() => followChanges(queries), [queries]);
  return (
    <div className="shell">
      <a href="#main" className="skip-link">
        Skip to content
      </a>
      <aside className="sidebar">
        <Brand />
        <SearchBox />
        <Navigation places={placesFor(useSession())} />
        <Account />
      </aside>
      <header className="topbar">
        <Brand />
        <SmallScreenMenu />
      </header>
      <main id="main" ref={main} tabIndex={-1} className="main">
        <ConnectionBanner />
        <AllowedOutlet />
      </main>
    </div>
  );
}

function Account() {
  const session = useSession();
  const { data: organization } = useQuery(organizationQuery());
  const organizationTitle = [organization?.name, session.org_id].filter((text) => typeof text === 'string').join('\n');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const leave = () => {
    signOut(queries, () => navigate({ to: '/sign-in' })).catch((error: unknown) => {
      toastFailure('Not signed out', error);
    });
  };
  return (
    <div className="account">
      <p className="account-label">Organization</p>
      <p className={organization?.name === null ? 'account-org mono' : 'account-org'} title={organizationTitle}>
        <bdi>{organization?.name ?? session.org_id}</bdi>
      </p>
      <div className="account-actions">
        <Button look="ghost" icon="leave" onClick={leave}>
          Sign out
        </Button>
        <ThemeSwitch />
      </div>
    </div>
  );
}

function SmallScreenMenu() {
  const [isWanted, setWanted] = useState(false);
  const trigger = (
    <IconButton
      icon="menu"
      label="Menu"
      onClick={() => {
        setWanted(true);
      }}
    />
  );
  // Wide screens never load it.
  return isWanted ? (
    <Suspense fallback={trigger}>
      <Drawer account={<Account />} />
    </Suspense>
  ) : (
    trigger
  );
}

const Drawer = lazy(async () => ({ default: (await import('./drawer.js')).Drawer }));
