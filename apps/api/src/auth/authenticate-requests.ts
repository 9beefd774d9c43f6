import type { FastifyInstance } from 'fastify';
import type { ApiKeyAuthenticator } from './api-key-authenticator.js';
import './authenticated-key.js';

/** Everything below here is closed to whoever has no key. */
const AUTHENTICATED = '/api/';

/**
 * Checks the key of every request for a route below `/api/`, before its body is read; what it may do, the scope guard
 * decides. The route's pattern counts and not the request's path, which can be spelled in many ways.
 */
export function authenticateRequests(instance: FastifyInstance, authenticator: ApiKeyAuthenticator): void {
  instance.decorateRequest('apiKey', null);
  instance.addHook('onRequest', async (request) => {
    if (request.is404 || request.routeOptions.url?.startsWith(AUTHENTICATED) !== true) return;
    const header = request.headers['x-api-key'];
    request.apiKey = await authenticator.authenticate(Array.isArray(header) ? header.join() : header);
  });
}
