import { useSuspenseQuery } from '@tanstack/react-query';
import { sessionQuery } from '../api/queries.js';
import type { Scope, Session } from '../api/resources.js';

/** The session of the pages that need a sign-in. The router makes sure that there is one. */
export function useSession(): Session {
  return useSuspenseQuery(sessionQuery()).data;
}

/** Whether the key of the session has the scope. Controls that need a missing scope are shown, but disabled. */
export function useScope(scope: Scope): boolean {
  return useSession().scopes.includes(scope);
}
