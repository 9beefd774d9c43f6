import type { FastifyInstance } from 'fastify';
import { actingAs } from '#libs/feed-store';
import '../auth/authenticated-key.js';
import '../auth/dashboard-session.js';
import type { Callers } from '../http/callers.js';

/** Enough to distinguish sessions; nobody can take one over by it. */
const SESSION_NAME_LENGTH = 16;

/** Has the audit log name the caller with all that the request changes. Last before the handler, once the body is read. */
export function noteActor(instance: FastifyInstance, callers: Callers): void {
  instance.addHook('preHandler', (request, _reply, done) => {
    const { apiKey, session } = request;
    if (apiKey === null) {
      done();
      return;
    }
    const actor = {
      kind: session === null ? 'api_key' : 'dashboard',
      keyId: apiKey.id,
      session: session?.name.slice(0, SESSION_NAME_LENGTH) ?? null,
      address: callers.addressOf(request),
      requestId: request.id,
    } as const;
    actingAs(actor, done);
  });
}
