import { useSuspenseQuery } from '@tanstack/react-query';
import { sessionQuery } from '../api/queries.js';
import { words } from './wording.js';
import type { Scope, Session } from '../api/resources.js';

/** The session of the pages that need a sign-in. The router makes sure that there is one. */
export function useSession(): Session {
  return useSuspenseQuery(sessionQuery()).data;
}

/** Whether the session has the scope. */
export function useScope(scope: Scope): boolean {
  return useSession().scopes.includes(scope);
}

/** Returns why a control cannot be used without the scope; `undefined` if the session has it. */
export function useLack(scope: Scope): string | undefined {
  const { access, howToGetMore } = words();
  return useScope(scope) ? undefined : `${access} does not allow that (${scope}). ${howToGetMore}`;
}
