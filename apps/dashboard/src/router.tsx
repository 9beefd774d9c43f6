import type { QueryClient } from '@tanstack/react-query';
import { createRoute, redirect } from '@tanstack/react-router';
import { parseOverviewSearch } from './overview/overview-search.js';
import { inside, root, routerOf, SHARED_PAGES } from './routes.js';
import { currentSession } from './session/session.js';
import { lazyPage } from './shell/lazy-page.js';
import { homeOf } from './shell/places.js';
import { Shell } from './shell/shell.js';

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  // An address keeps parameters that are missing here. So a path of another site is overwritten, not left out.
  validateSearch: (
    search: Record<string, unknown>,
  ): { readonly next?: string | undefined; readonly ended?: boolean } => ({
    next: isOwnPath(search['next']) ? search['next'] : undefined,
    ...(search['ended'] === true ? { ended: true } : {}),
  }),
  beforeLoad: async ({ context, search }) => {
    const session = await currentSession(context.queries);
    if (session === null) return;
    // oxlint-disable-next-line typescript/only-throw-error -- the router redirects in this way
    throw search.next === undefined ? redirect({ to: homeOf(session) }) : redirect({ href: search.next });
  },
  component: lazyPage(() => import('./pages/sign-in.page.js'), 'SignInPage'),
});

const overview = createRoute({
  getParentRoute: () => inside,
  path: '/',
  staticData: { needs: 'webhooks:read' },
  beforeLoad: async ({ context }) => {
    const session = await currentSession(context.queries);
    const home = session === null ? '/' : homeOf(session);
    // oxlint-disable-next-line typescript/only-throw-error -- the router redirects in this way
    if (home !== '/') throw redirect({ to: home });
  },
  validateSearch: parseOverviewSearch,
  component: lazyPage(() => import('./pages/overview.page.js'), 'OverviewPage'),
});

const cursors = createRoute({
  getParentRoute: () => inside,
  path: '/cursors',
  staticData: { needs: 'events:read' },
  component: lazyPage(() => import('./cursors/cursors.page.js'), 'CursorsPage'),
});

const agents = createRoute({
  getParentRoute: () => inside,
  path: '/agents',
  staticData: { needs: 'webhooks:read' },
  component: lazyPage(() => import('./agents/agents.page.js'), 'AgentsPage'),
});

const routes = root.addChildren([signIn, inside.addChildren([overview, cursors, agents, ...SHARED_PAGES])]);

export function dashboardRouter(queries: QueryClient) {
  return routerOf(routes, '/', {
    queries,
    Shell,
    enter: async (location) => {
      if ((await currentSession(queries)) !== null) return;
      const next = location.href === '/' ? {} : { next: location.href };
      // oxlint-disable-next-line typescript/only-throw-error -- the router redirects in this way
      throw redirect({ to: '/sign-in', search: next });
    },
  });
}

/** Whether the path is on this site. The sign-in never leads to another one. */
function isOwnPath(value: unknown): value is string {
  return typeof value === 'string' && /^\/(?![/\\])/.test(value);
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof dashboardRouter>;
  }
}
