import type { QueryClient } from '@tanstack/react-query';
import { ApiProblem } from '../api/api-problem.js';
import { api, dataOf, setBearerToken } from '../api/client.js';
import { sessionQuery } from '../api/queries.js';
import type { PortalSession } from '../api/resources.js';
import { keepToken, keptToken } from './portal-token.js';

const PORTAL_KEY = ['portal-session'];

/** Whether the api has refused the session of this page. */
let isOver = false;

/**
 * Opens the session of a link, or goes on with the one that this tab has.
 * @param link the token of the link that led here, if the address had one
 * @returns `null` if there is no session: the link was used or has expired, or the session is over
 * @throws ApiProblem when the api cannot answer
 */
export async function beginPortalSession(queries: QueryClient, link: string | null): Promise<PortalSession | null> {
  const kept = keptToken();
  try {
    // A page that is loaded again has the link that it has used. Another link may be of another user, whatever became
    // of it: the session before it is not shown.
    if (link !== null && link !== kept?.link) {
      keepToken(null);
      const { token, session } = await dataOf(api.POST('/api/v1/portal/session', { body: { link_token: link } }));
      keepToken({ link, token });
      return begun(queries, token, session);
    }
    if (kept === null) return null;
    setBearerToken(kept.token);
    return begun(queries, kept.token, await dataOf(api.GET('/api/v1/portal/session')));
  } catch (error) {
    if (!(error instanceof ApiProblem && error.status === 401)) throw error;
    endPortalSession(queries);
    return null;
  }
}

/**
 * Lets nobody enter a page of the session any more. A page that stays open keeps its token: without one, its requests
 * would be in the name of a dashboard session that the browser may have.
 * @returns whether the session was open
 */
export function closePortalSession(): boolean {
  if (isOver) return false;
  isOver = true;
  keepToken(null);
  return true;
}

/** Whether pages can be entered. */
export function isPortalOpen(queries: QueryClient): boolean {
  return !isOver && portalSession(queries) !== null;
}

/** Forgets the session and everything that it has loaded. */
export function endPortalSession(queries: QueryClient): void {
  setBearerToken(null);
  keepToken(null);
  queries.clear();
}

/** Returns the session of the pages. There is one once the router has begun. */
export function portalSession(queries: QueryClient): PortalSession | null {
  return queries.getQueryData<PortalSession>(PORTAL_KEY) ?? null;
}

function begun(queries: QueryClient, token: string, session: PortalSession): PortalSession {
  setBearerToken(token);
  for (const queryKey of [PORTAL_KEY, sessionQuery().queryKey])
    queries.setQueryDefaults(queryKey, { gcTime: Infinity });
  queries.setQueryData(PORTAL_KEY, session);
  // The pages are those of the dashboard, and ask for its session.
  queries.setQueryData(sessionQuery().queryKey, {
    org_id: session.org_id,
    key_id: session.id,
    scopes: session.scopes,
    expires_at: session.expires_at,
    csrf_token: '',
    live_chat_alerts: session.live_chat_alerts,
  });
  return session;
}
