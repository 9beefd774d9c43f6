import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Outlet, useNavigate } from '@tanstack/react-router';
import { Dialog } from '@base-ui/react/dialog';
import { useState } from 'react';
import { organizationQuery } from '../api/queries.js';
import { signOut } from '../session/session.js';
import { useSession } from '../session/use-session.js';
import { Button, IconButton } from '../ui/button.js';
import { toastFailure } from '../ui/toasts.js';
import { Brand } from './brand.js';
import { Navigation } from './navigation.js';
import { ThemeSwitch } from './theme-switch.js';
import { useFocusOnNavigation } from './use-focus-on-navigation.js';
import './shell.css';

/** The frame of every page that needs a sign-in. */
export function Shell() {
  const main = useFocusOnNavigation();
  return (
    <div className="shell">
      <a href="#main" className="skip-link">
        Skip to content
      </a>
      <aside className="sidebar">
        <Brand />
        <Navigation />
        <Account />
      </aside>
      <header className="topbar">
        <Brand />
        <SmallScreenMenu />
      </header>
      <main id="main" ref={main} tabIndex={-1} className="main">
        <Outlet />
      </main>
    </div>
  );
}

function Account() {
  const session = useSession();
  const { data: organization } = useQuery(organizationQuery());
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
      <p className={organization?.name === null ? 'account-org mono' : 'account-org'} title={session.org_id}>
        {organization?.name ?? session.org_id}
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
  const [open, setOpen] = useState(false);
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Trigger render={<IconButton icon="menu" label="Menu" />} />
      <Dialog.Portal>
        <Dialog.Backdrop className="dialog-backdrop" />
        <Dialog.Popup className="drawer">
          <div className="row-apart">
            <Dialog.Title className="visually-hidden">Menu</Dialog.Title>
            <Brand />
            <Dialog.Close render={<IconButton icon="cross" label="Close" />} />
          </div>
          <Navigation
            onNavigate={() => {
              setOpen(false);
            }}
          />
          <Account />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
