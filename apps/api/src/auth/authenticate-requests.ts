import type { FastifyInstance } from 'fastify';
import { GaplessError } from '#libs/domain';
import './authenticated-key.js';
import './dashboard-session.js';
import '../portal/portal-sessions.js';
import type { RequestAuthenticator } from './request-authenticator.js';
import './sign-in.decorator.js';

/** A body that takes longer than this is slow, milliseconds. */
const SLOW_BODY_MS = 1_000;

/** Every path under this one requires a key. */
const AUTHENTICATED = '/api/';
/** The path of agents, which send their key as clients of MCP do. */
const AGENTS = '/mcp';

/**
 * Checks the key or the session of every request for a route below `/api/`, and the key of every request for `/mcp`,
 * before its body is read. The scope guard checks what it may do. The route's pattern decides, because a path can be
 * spelled in many ways.
 */
export function authenticateRequests(instance: FastifyInstance, authenticator: RequestAuthenticator): void {
  instance.decorateRequest('apiKey', null);
  instance.decorateRequest('session', null);
  instance.decorateRequest('portal', null);
  instance.addHook('onRequest', async (request, reply) => {
    const { url, config } = request.routeOptions;
    if (url === AGENTS) {
      // A request that is refused needs this header (RFC 9110, 15.5.2).
      reply.header('www-authenticate', 'Bearer realm="Gapless"');
      request.apiKey = await authenticator.authenticateAgent(request);
      reply.removeHeader('www-authenticate');
      return;
    }
    if (request.is404 || url?.startsWith(AUTHENTICATED) !== true || config.signsIn === true) return;
    const { key, session, portal } = await authenticator.authenticate(request);
    request.apiKey = key;
    request.session = session;
    request.portal = portal;
  });
  // A caller could begin a request, and send the rest of its body after its key was revoked.
  instance.addHook('preValidation', async (request, reply) => {
    if (request.apiKey === null || reply.elapsedTime < SLOW_BODY_MS) return;
    if (!(await authenticator.isInForce(request))) {
      throw new GaplessError('invalid_api_key', 'The API key is unknown, revoked or expired.');
    }
  });
}
