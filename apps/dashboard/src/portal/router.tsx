import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, createRoute, createRouter, Outlet, redirect } from '@tanstack/react-router';
import { parseDeliverySearch } from '../deliveries/delivery-search.js';
import { parseEventSearch } from '../events/event-search.js';
import { parseSampleSearch } from '../samples/sample-search.js';
import { parseFindSearch } from '../find/find-search.js';
import { parsePageSearch } from '../ui/page-search.js';
import { FailedPage } from '../shell/failed-page.js';
import { lazyPage } from '../shell/lazy-page.js';
import { LoadingPage, PENDING_MS } from '../shell/loading-page.js';
import { MissingPage } from '../shell/missing-page.js';
import { EndedPage } from './ended-page.js';
import { PortalShell } from './portal-shell.js';
import { portalSession } from './portal-session.js';

// The ids and paths of the routes are those of the dashboard, because the pages find their parameters by them.
const root = createRootRouteWithContext<{ readonly queries: QueryClient }>()({ component: Outlet });

const ended = createRoute({ getParentRoute: () => root, path: '/ended', component: EndedPage });

const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  beforeLoad: ({ context }) => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router redirects in this way
    if (portalSession(context.queries) === null) throw redirect({ to: '/ended' as '/', replace: true });
  },
  component: PortalShell,
});

const first = createRoute({
  getParentRoute: () => inside,
  path: '/',
  beforeLoad: ({ context }) => {
    const scopes = portalSession(context.queries)?.scopes ?? [];
    const to = scopes.includes('webhooks:read')
      ? '/endpoints'
      : scopes.includes('events:read')
        ? '/events'
        : '/catalog';
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router redirects in this way
    throw redirect({ to, replace: true });
  },
});

const endpoints = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints',
  component: lazyPage(() => import('../pages/endpoints.page.js'), 'EndpointsPage'),
});

const newEndpoint = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/new',
  component: lazyPage(() => import('../pages/new-endpoint.page.js'), 'NewEndpointPage'),
});

const endpoint = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/$endpointId',
  validateSearch: parseDeliverySearch,
  component: lazyPage(() => import('../pages/endpoint.page.js'), 'EndpointPage'),
});

const editEndpoint = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/$endpointId/edit',
  component: lazyPage(() => import('../pages/edit-endpoint.page.js'), 'EditEndpointPage'),
});

const delivery = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/$endpointId/deliveries/$deliveryId',
  component: lazyPage(() => import('../pages/delivery.page.js'), 'DeliveryPage'),
});

const events = createRoute({
  getParentRoute: () => inside,
  path: '/events',
  validateSearch: parseEventSearch,
  component: lazyPage(() => import('../pages/events.page.js'), 'EventsPage'),
});

const catalog = createRoute({
  getParentRoute: () => inside,
  path: '/catalog',
  component: lazyPage(() => import('../pages/catalog.page.js'), 'CatalogPage'),
});

const alerts = createRoute({
  getParentRoute: () => inside,
  path: '/alerts',
  validateSearch: parsePageSearch,
  component: lazyPage(() => import('../pages/alerts.page.js'), 'AlertsPage'),
});

const keys = createRoute({
  getParentRoute: () => inside,
  path: '/keys',
  component: lazyPage(() => import('../pages/keys.page.js'), 'KeysPage'),
});

const auditLog = createRoute({
  getParentRoute: () => inside,
  path: '/audit-log',
  validateSearch: parsePageSearch,
  component: lazyPage(() => import('../pages/audit-log.page.js'), 'AuditLogPage'),
});

const samples = createRoute({
  getParentRoute: () => inside,
  path: '/samples',
  validateSearch: parseSampleSearch,
  component: lazyPage(() => import('../pages/samples.page.js'), 'SamplesPage'),
});

const find = createRoute({
  getParentRoute: () => inside,
  path: '/find',
  validateSearch: parseFindSearch,
  component: lazyPage(() => import('../pages/find.page.js'), 'FindPage'),
});

const missing = createRoute({ getParentRoute: () => inside, path: '$', component: MissingPage });

const pages = [
  first,
  endpoints,
  newEndpoint,
  endpoint,
  editEndpoint,
  delivery,
  events,
  catalog,
  alerts,
  keys,
  auditLog,
  samples,
  find,
  missing,
];

export function portalRouter(queries: QueryClient) {
  return createRouter({
    routeTree: root.addChildren([ended, inside.addChildren(pages)]),
    basepath: '/portal',
    context: { queries },
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultPendingMs: PENDING_MS,
    defaultPendingComponent: LoadingPage,
    defaultErrorComponent: FailedPage,
    defaultNotFoundComponent: MissingPage,
  });
}
