import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { errorCodes, type FastifyReply, type FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';
import { Metrics } from '#libs/telemetry';
import { CONFIG, LOGGER } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';
import { nameActors } from '../audit/actor.decorator.js';
import { authenticateRequests } from '../auth/authenticate-requests.js';
import { refuseForgeries } from '../auth/refuse-forgeries.js';
import { RequestAuthenticator } from '../auth/request-authenticator.js';
import { PAGES, serveDashboard } from '../dashboard/serve-dashboard.js';
import { limitRequests } from '../rate-limits/limit-requests.js';
import { RateLimits } from '../rate-limits/rate-limits.js';
import { allowedMethods } from '../openapi/allowed-methods.js';
import { serveDocs } from '../openapi/serve-docs.js';
import { logAccess } from './access-log.js';
import { acceptJson } from './bodies/accept-json.js';
import { Callers } from './callers.js';
import { limitUnreadAnswers } from './limit-unread-answers.js';
import { measureRequests } from './measure-requests.js';
import { applyBodyLimits } from './operation-limits.js';
import { refuseOtherHosts } from './refuse-other-hosts.js';

/** The policy of every response that is not a page: no scripts, no frames. Pages set a policy of their own. */
const NO_CONTENT_POLICY = {
  useDefaults: false,
  directives: { defaultSrc: "'none'", frameAncestors: "'none'", baseUri: "'none'", formAction: "'none'" },
};

/** The paths whose answers belong to one caller. */
const NOT_STORED = /^\/(api\/|mcp$)/;

/** Sets up the hooks of every request, before Nest registers its routes. */
export function configureApi(app: NestFastifyApplication): void {
  app.useSecurityHeaders({
    contentSecurityPolicy: NO_CONTENT_POLICY,
    // Other hosts of the domain are not ours to decide on.
    strictTransportSecurity: { includeSubDomains: false },
    xFrameOptions: { action: 'deny' },
    // These headers are for obsolete browsers and plug-ins.
    xXssProtection: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xDnsPrefetchControl: false,
    originAgentCluster: false,
  });
  const instance = app.getHttpAdapter().getInstance();
  instance.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    if (NOT_STORED.test(request.routeOptions.url ?? '')) reply.header('cache-control', 'no-store');
    done();
  });
  instance.addHook('onRequest', refuseOtherHosts);
  instance.addHook('onRequest', refuseOtherOperations);
  applyBodyLimits(instance);
  acceptJson(instance, app.get<Config>(CONFIG).maxPendingIngestBytes);
  authenticateRequests(instance, app.get(RequestAuthenticator));
  limitRequests(instance, app.get(RateLimits));
  limitUnreadAnswers(instance, app.get<Config>(CONFIG).streamMemoryBytes, app.get(Callers));
  refuseForgeries(instance);
  nameActors(instance, app.get(Callers));
  logAccess(instance, app.get<Logger>(LOGGER));
  measureRequests(instance, app.get(Metrics));
  serveDocs(instance);
  serveDashboard(instance, app.get<Config>(CONFIG));
}

/**
 * Refuses unknown paths, and methods that a known path does not have (RFC 9110, 15.5.6), before a body is read. The route
 * of the dashboard's pages takes every path.
 */
function refuseOtherOperations(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
  const isPage = request.routeOptions.url === PAGES;
  if (!request.is404 && !isPage) {
    done();
    return;
  }
  const allowed = allowedMethods(request.url);
  if (allowed.length === 0) {
    done(isPage ? undefined : new errorCodes.FST_ERR_NOT_FOUND());
    return;
  }
  reply.header('allow', allowed.join(', '));
  done(new GaplessError('method_not_allowed', `The operation has no ${request.method}, but ${allowed.join(', ')}.`));
}
