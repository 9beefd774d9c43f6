import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, createRoute, createRouter, Outlet, redirect } from '@tanstack/react-router';
import { parseDeliverySearch } from './deliveries/delivery-search.js';
import { parseFindSearch } from './find/find-search.js';
import { parseEventSearch } from './events/event-search.js';
import { parseOverviewSearch } from './overview/overview-search.js';
import { parsePageSearch } from './ui/page-search.js';
import { parseSampleSearch } from './samples/sample-search.js';
import { currentSession } from './session/session.js';
import { homeOf } from './shell/places.js';
import { FailedPage } from './shell/failed-page.js';
import { lazyPage } from './shell/lazy-page.js';
import { LoadingPage, PENDING_MS } from './shell/loading-page.js';
import { MissingPage } from './shell/missing-page.js';
import { Shell } from './shell/shell.js';

const root = createRootRouteWithContext<{ readonly queries: QueryClient }>()({ component: Outlet });

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
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router redirects in this way
    throw search.next === undefined ? redirect({ to: homeOf(session) }) : redirect({ href: search.next });
  },
  component: lazyPage(() => import('./pages/sign-in.page.js'), 'SignInPage'),
});

/** Every page that needs a sign-in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  beforeLoad: async ({ context, location }) => {
    if ((await currentSession(context.queries)) !== null) return;
    const next = location.href === '/' ? {} : { next: location.href };
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router redirects in this way
    throw redirect({ to: '/sign-in', search: next });
  },
  component: Shell,
});

const overview = createRoute({
  getParentRoute: () => inside,
  path: '/',
  beforeLoad: async ({ context }) => {
    const session = await currentSession(context.queries);
    const home = session === null ? '/' : homeOf(session);
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router redirects in this way
    if (home !== '/') throw redirect({ to: home });
  },
  validateSearch: parseOverviewSearch,
  component: lazyPage(() => import('./pages/overview.page.js'), 'OverviewPage'),
});

const endpoints = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints',
  component: lazyPage(() => import('./pages/endpoints.page.js'), 'EndpointsPage'),
});

const newEndpoint = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/new',
  component: lazyPage(() => import('./pages/new-endpoint.page.js'), 'NewEndpointPage'),
});

const endpoint = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/$endpointId',
  validateSearch: parseDeliverySearch,
  component: lazyPage(() => import('./pages/endpoint.page.js'), 'EndpointPage'),
});

const editEndpoint = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/$endpointId/edit',
  component: lazyPage(() => import('./pages/edit-endpoint.page.js'), 'EditEndpointPage'),
});

const delivery = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/$endpointId/deliveries/$deliveryId',
  component: lazyPage(() => import('./pages/delivery.page.js'), 'DeliveryPage'),
});

const events = createRoute({
  getParentRoute: () => inside,
  path: '/events',
  validateSearch: parseEventSearch,
  component: lazyPage(() => import('./pages/events.page.js'), 'EventsPage'),
});

const cursors = createRoute({
  getParentRoute: () => inside,
  path: '/cursors',
  component: lazyPage(() => import('./cursors/cursors.page.js'), 'CursorsPage'),
});

const agents = createRoute({
  getParentRoute: () => inside,
  path: '/agents',
  component: lazyPage(() => import('./agents/agents.page.js'), 'AgentsPage'),
});

const alerts = createRoute({
  getParentRoute: () => inside,
  path: '/alerts',
  validateSearch: parsePageSearch,
  component: lazyPage(() => import('./pages/alerts.page.js'), 'AlertsPage'),
});

const catalog = createRoute({
  getParentRoute: () => inside,
  path: '/catalog',
  component: lazyPage(() => import('./pages/catalog.page.js'), 'CatalogPage'),
});

const find = createRoute({
  getParentRoute: () => inside,
  path: '/find',
  validateSearch: parseFindSearch,
  component: lazyPage(() => import('./pages/find.page.js'), 'FindPage'),
});

const missing = createRoute({ getParentRoute: () => inside, path: '$', component: MissingPage });

const keys = createRoute({
  getParentRoute: () => inside,
  path: '/keys',
  component: lazyPage(() => import('./pages/keys.page.js'), 'KeysPage'),
});

const auditLog = createRoute({
  getParentRoute: () => inside,
  path: '/audit-log',
  validateSearch: parsePageSearch,
  component: lazyPage(() => import('./pages/audit-log.page.js'), 'AuditLogPage'),
});

const samples = createRoute({
  getParentRoute: () => inside,
  path: '/samples',
  validateSearch: parseSampleSearch,
  component: lazyPage(() => import('./pages/samples.page.js'), 'SamplesPage'),
});

const routes = root.addChildren([
  signIn,
  inside.addChildren([
    overview,
    endpoints,
    newEndpoint,
    endpoint,
    editEndpoint,
    delivery,
    events,
    cursors,
    agents,
    catalog,
    alerts,
    keys,
    auditLog,
    samples,
    find,
    missing,
  ]),
]);

export function dashboardRouter(queries: QueryClient) {
  return createRouter({
    routeTree: routes,
    context: { queries },
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultPendingMs: PENDING_MS,
    defaultPendingComponent: LoadingPage,
    defaultErrorComponent: FailedPage,
    defaultNotFoundComponent: MissingPage,
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
