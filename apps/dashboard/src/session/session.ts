import type { QueryClient } from '@tanstack/react-query';
import { api, dataOf, done, setCsrfToken } from '../api/client.js';
import { ApiProblem } from '../api/api-problem.js';
import { resetConnection } from '../api/connection.js';
import { sessionQuery } from '../api/queries.js';
import type { Session } from '../api/resources.js';
import { sessionHint } from './session-hint.js';

/** Returns the present session, which is requested once; `null` if nobody is signed in. */
export async function currentSession(queries: QueryClient): Promise<Session | null> {
  if (sessionHint.keyId() === null) return null;
  try {
    const session = await queries.query(sessionQuery());
    setCsrfToken(session.csrf_token);
    sessionHint.set(session.key_id);
    return session;
  } catch (error) {
    if (!(error instanceof ApiProblem && error.status === 401)) throw error;
    forgetSession(queries);
    return null;
  }
}

/** @throws ApiProblem when the api refuses the key */
export async function signIn(queries: QueryClient, apiKey: string): Promise<void> {
  const session = await dataOf(api.POST('/api/v1/dashboard/session', { body: { api_key: apiKey } }));
  queries.clear();
  queries.setQueryData(sessionQuery().queryKey, session);
  setCsrfToken(session.csrf_token);
  sessionHint.set(session.key_id);
}

/**
 * Takes over the session that a sign-in in another tab has begun: the cookie is that session's already. With another key,
 * it may be of another organization, and the page would mix the data of both. So it loads itself again.
 * @returns whether the page goes on, with the token of that session
 * @throws ApiProblem when the api refuses the session
 */
export async function renewSession(queries: QueryClient): Promise<boolean> {
  const known = queries.getQueryData(sessionQuery().queryKey);
  if (known === undefined) return false;
  const session = await dataOf(api.GET('/api/v1/dashboard/session'));
  if (session.key_id !== known.key_id) {
    location.reload();
    return false;
  }
  queries.setQueryData(sessionQuery().queryKey, session);
  setCsrfToken(session.csrf_token);
  return true;
}

/**
 * @param leave goes to the sign-in page, so that pages send no more requests after the session ends
 * @throws ApiProblem when the api does not end the session
 */
export async function signOut(queries: QueryClient, leave: () => Promise<void>): Promise<void> {
  const keyId = sessionHint.keyId();
  sessionHint.clear();
  await leave();
  try {
    await done(api.DELETE('/api/v1/dashboard/session'));
  } catch (error) {
    if (keyId !== null) sessionHint.set(keyId);
    throw error;
  }
  forgetSession(queries);
}

/** Deletes everything that the session has loaded. */
function forgetSession(queries: QueryClient): void {
  endSession();
  queries.clear();
}

/** Ends the session in this tab. What it has loaded stays, for a page that its user does not want to leave yet. */
export function endSession(): void {
  resetConnection();
  setCsrfToken(null);
  sessionHint.clear();
}
