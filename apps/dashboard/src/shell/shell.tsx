import { useQueryClient } from '@tanstack/react-query';
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { Dialog } from '@base-ui/react/dialog';
import { useEffect, useRef, useState } from 'react';
import { signOut } from '../session/session.js';
import { useSession } from '../session/use-session.js';
import { Button, IconButton } from '../ui/button.js';
import { toastFailure } from '../ui/toasts.js';
import { Brand } from './brand.js';
import { Navigation } from './navigation.js';
import { ThemeSwitch } from './theme-switch.js';
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

/** Moves the focus to the beginning of a new page, for keyboards and screen readers. */
function useFocusOnNavigation() {
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current !== path) main.current?.focus({ preventScroll: true });
    shown.current = path;
  }, [path]);
  return main;
}

function Account() {
  const session = useSession();
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
      <p className="account-org mono" title={session.org_id}>
        {session.org_id}
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
