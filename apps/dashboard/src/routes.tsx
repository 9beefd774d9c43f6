import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Outlet,
  type AnyRoute,
  type ParsedLocation,
} from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { parseDeliverySearch } from './deliveries/delivery-search.js';
import { parseEndpointSearch } from './endpoints/endpoint-search.js';
import { parseEventSearch } from './events/event-search.js';
import { parseFindSearch } from './find/find-search.js';
import { parseSampleSearch } from './samples/sample-search.js';
import { FailedPage } from './shell/failed-page.js';
import { lazyPage } from './shell/lazy-page.js';
import { LoadingPage, PENDING_MS } from './shell/loading-page.js';
import { MissingPage } from './shell/missing-page.js';
import { parsePageSearch } from './ui/page-search.js';

/** What the pages are in: the dashboard or the portal. */
export interface Surroundings {
  readonly queries: QueryClient;
  /** The frame around each page. */
  readonly Shell: ComponentType;
  /** Redirects anyone without a session. */
  readonly enter: (location: ParsedLocation) => void | Promise<void>;
}

export const root = createRootRouteWithContext<Surroundings>()({ component: Outlet });

/** Every page that needs a session. */
export const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  beforeLoad: ({ context, location }) => context.enter(location),
  component: Inside,
});

function Inside() {
  const { Shell } = inside.useRouteContext();
  return <Shell />;
}

const endpoints = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints',
  staticData: { needs: 'webhooks:read' },
  validateSearch: parseEndpointSearch,
  component: lazyPage(() => import('./pages/endpoints/endpoints.page.js'), 'EndpointsPage'),
});

const newEndpoint = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/new',
  staticData: { needs: 'webhooks:write' },
  component: lazyPage(() => import('./pages/endpoints/new-endpoint.page.js'), 'NewEndpointPage'),
});

const endpoint = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/$endpointId',
  staticData: { needs: 'webhooks:read' },
  validateSearch: parseDeliverySearch,
  component: lazyPage(() => import('./pages/endpoints/endpoint.page.js'), 'EndpointPage'),
});

const editEndpoint = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/$endpointId/edit',
  staticData: { needs: 'webhooks:write' },
  component: lazyPage(() => import('./pages/endpoints/edit-endpoint.page.js'), 'EditEndpointPage'),
});

const delivery = createRoute({
  getParentRoute: () => inside,
  path: '/endpoints/$endpointId/deliveries/$deliveryId',
  staticData: { needs: 'webhooks:read' },
  component: lazyPage(() => import('./pages/endpoints/delivery.page.js'), 'DeliveryPage'),
});

const events = createRoute({
  getParentRoute: () => inside,
  path: '/events',
  staticData: { needs: 'events:read' },
  validateSearch: parseEventSearch,
  component: lazyPage(() => import('./pages/events.page.js'), 'EventsPage'),
});

const catalog = createRoute({
  getParentRoute: () => inside,
  path: '/catalog',
  component: lazyPage(() => import('./pages/catalog.page.js'), 'CatalogPage'),
});

const alerts = createRoute({
  getParentRoute: () => inside,
  path: '/alerts',
  staticData: { needs: 'settings:read' },
  validateSearch: parsePageSearch,
  component: lazyPage(() => import('./pages/alerts.page.js'), 'AlertsPage'),
});

const keys = createRoute({
  getParentRoute: () => inside,
  path: '/keys',
  staticData: { needs: 'keys:write' },
  component: lazyPage(() => import('./pages/keys.page.js'), 'KeysPage'),
});

const auditLog = createRoute({
  getParentRoute: () => inside,
  path: '/audit-log',
  staticData: { needs: 'keys:write' },
  validateSearch: parsePageSearch,
  component: lazyPage(() => import('./pages/audit-log.page.js'), 'AuditLogPage'),
});

const samples = createRoute({
  getParentRoute: () => inside,
  path: '/samples',
  validateSearch: parseSampleSearch,
  component: lazyPage(() => import('./pages/samples.page.js'), 'SamplesPage'),
});

const find = createRoute({
  getParentRoute: () => inside,
  path: '/find',
  validateSearch: parseFindSearch,
  component: lazyPage(() => import('./pages/find.page.js'), 'FindPage'),
});

const missing = createRoute({ getParentRoute: () => inside, path: '$', component: MissingPage });

/** The pages that the dashboard and the portal share. */
export const SHARED_PAGES = [
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
] as const;

/** Returns the router of a tree with these pages. */
export function routerOf<Tree extends AnyRoute>(routeTree: Tree, basepath: string, context: Surroundings) {
  return createRouter({
    routeTree,
    basepath,
    context: context,
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultPendingMs: PENDING_MS,
    defaultPendingComponent: LoadingPage,
    defaultErrorComponent: FailedPage,
    defaultNotFoundComponent: MissingPage,
    // A dialog or a result of one endpoint must not stay on the page of another one, and act on that.
    defaultRemountDeps: ({ params }) => params as unknown,
  });
}
