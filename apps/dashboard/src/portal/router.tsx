import type { QueryClient } from '@tanstack/react-query';
import { createRoute, redirect } from '@tanstack/react-router';
import { inside, root, routerOf, SHARED_PAGES } from '../routes.js';
import { homeInPortal } from '../shell/places.js';
import { EndedPage } from './ended-page.js';
import { isPortalOpen, portalSession } from './portal-session.js';
import { PortalShell } from './portal-shell.js';

const ended = createRoute({ getParentRoute: () => root, path: '/ended', component: EndedPage });

const first = createRoute({
  getParentRoute: () => inside,
  path: '/',
  beforeLoad: ({ context }) => {
    const session = portalSession(context.queries);
    // oxlint-disable-next-line typescript/only-throw-error -- the router redirects in this way
    if (session !== null) throw redirect({ to: homeInPortal(session), replace: true });
  },
});

const routes = root.addChildren([ended, inside.addChildren([first, ...SHARED_PAGES])]);

export function portalRouter(queries: QueryClient) {
  return routerOf(routes, '/portal', {
    queries,
    Shell: PortalShell,
    enter: () => {
      // oxlint-disable-next-line typescript/only-throw-error -- the router redirects in this way
      if (!isPortalOpen(queries)) throw redirect({ to: '/ended' as '/', replace: true });
    },
  });
}
