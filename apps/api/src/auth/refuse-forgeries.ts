import type { FastifyInstance } from 'fastify';
import { GaplessError } from '#libs/domain';
import { isSameSecret, sha256OfSecret } from '#libs/postgres';
import './dashboard-session.js';

/** Methods that change nothing (RFC 9110, section 9.2.1). */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses unsafe requests that have the dashboard's cookie but not its CSRF token. Browsers add the cookie to requests
 * of any site, but only the dashboard knows the token. Requests with a key in a header need no token, because browsers
 * do not add that header.
 */
export function refuseForgeries(instance: FastifyInstance): void {
  instance.addHook('onRequest', (request, _reply, done) => {
    const { session, method } = request;
    const shown = request.headers['x-csrf-token'];
    const isGenuine =
      session === null ||
      SAFE_METHODS.has(method) ||
      (typeof shown === 'string' && isSameSecret(shown, sha256OfSecret(session.csrfToken)));
    if (isGenuine) done();
    else done(new GaplessError('csrf_token_invalid', 'Send the csrf_token of the session in the X-CSRF-Token header.'));
  });
}
