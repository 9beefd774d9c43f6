import { AsyncLocalStorage } from 'node:async_hooks';
import type { ApiKeyId } from '#libs/domain';

/** Who makes a change, for the audit log. */
export interface AuditActor {
  readonly kind: 'api_key' | 'dashboard';
  readonly keyId: ApiKeyId;
  /** The beginning of the name of the dashboard session. */
  readonly session: string | null;
  readonly address: string;
  readonly requestId: string;
}

const actors = new AsyncLocalStorage<AuditActor>();

/** Everything that `act` does, and what it begins, is done by the actor. */
export function actingAs<T>(actor: AuditActor, act: () => T): T {
  return actors.run(actor, act);
}

/** `undefined` outside of requests: the command line and the processes themselves are the operator's. */
export function currentActor(): AuditActor | undefined {
  return actors.getStore();
}
