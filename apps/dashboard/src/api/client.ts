import createClient, { type Middleware } from 'openapi-fetch';
import { apiProblem } from './api-problem.js';
import { NoAnswer } from './no-answer.js';
import { reportAnswer, reportNoAnswer } from './connection.js';
import type { paths } from './schema.js';

const READ_TIMEOUT_MS = 10_000;
/** Longer than the api waits for its own servers: what was done should not look as if it may have failed. */
const ACTION_TIMEOUT_MS = 20_000;
/** The service, or what it stores in, is away. */
const GATEWAY_ERRORS = new Set([502, 503, 504]);
const SAFE_METHODS = new Set(['GET', 'HEAD']);
const CSRF_HEADER = 'X-CSRF-Token';

/** The part of the session that requests need: set at sign-in, empty when signed out. */
let csrfToken: string | null = null;
/** The token of a portal session. The dashboard has none: its session is a cookie. */
let bearer: string | null = null;
let onSessionEnd: () => void = () => undefined;
let renewToken: () => Promise<boolean> = () => Promise.resolve(false);

export function setCsrfToken(token: string | null): void {
  csrfToken = token;
}

export function setBearerToken(token: string | null): void {
  bearer = token;
}

export function bearerToken(): string | null {
  return bearer;
}

/** @param listener called when the api no longer accepts the session */
export function whenSessionEnds(listener: () => void): void {
  onSessionEnd = listener;
}

/** @param renew called when the api refuses the CSRF token; returns whether there is another one to use */
export function whenTokenIsRefused(renew: () => Promise<boolean>): void {
  renewToken = renew;
}

const withSession: Middleware = {
  onRequest({ request }) {
    if (csrfToken !== null && !SAFE_METHODS.has(request.method)) request.headers.set(CSRF_HEADER, csrfToken);
    if (bearer !== null) request.headers.set('Authorization', `Bearer ${bearer}`);
    return request;
  },
  onResponse({ response }) {
    if (GATEWAY_ERRORS.has(response.status)) reportNoAnswer();
    else reportAnswer();
    if (response.status === 401 && (csrfToken ?? bearer) !== null) onSessionEnd();
  },
};

/**
 * Fetches, and gives up on a service that accepts a request and never answers it, or never ends its answer.
 * @throws NoAnswer
 */
export async function fetchInTime(request: Request): Promise<Response> {
  const isAction = !SAFE_METHODS.has(request.method);
  const patience = new AbortController();
  const giveUp = setTimeout(() => patience.abort(), isAction ? ACTION_TIMEOUT_MS : READ_TIMEOUT_MS);
  try {
    const response = await fetch(request, { signal: patience.signal });
    const body = await response.arrayBuffer();
    return new Response(body.byteLength === 0 ? null : body, response);
  } catch {
    reportNoAnswer();
    throw new NoAnswer(patience.signal.aborted ? 'too late' : 'unreachable', isAction);
  } finally {
    clearTimeout(giveUp);
  }
}

/** Sends an action again if its token was that of a session that a sign-in in another tab has replaced. */
async function fetchInSession(request: Request): Promise<Response> {
  if (!request.headers.has(CSRF_HEADER)) return fetchInTime(request);
  const again = request.clone();
  const response = await fetchInTime(request);
  if (!(await isTokenRefused(response)) || !(await renewToken()) || csrfToken === null) return response;
  again.headers.set(CSRF_HEADER, csrfToken);
  return fetchInTime(again);
}

async function isTokenRefused(response: Response): Promise<boolean> {
  if (response.status !== 403) return false;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  return apiProblem(response.status, body).code === 'csrf_token_invalid';
}

/** The client for the api in `docs/openapi.json`. The browser adds the session's cookie. */
export const api = createClient<paths>({
  baseUrl: location.origin,
  credentials: 'same-origin',
  fetch: fetchInSession,
});
api.use(withSession);

interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/**
 * Returns the body of a response.
 * @throws ApiProblem when the api refused
 */
export async function bodyOf<T>(asking: Promise<Answer<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await asking;
  if (!response.ok || data === undefined || data === null) throw apiProblem(response.status, error);
  return data;
}

/**
 * Returns the `data` of a response.
 * @throws ApiProblem when the api refused
 */
export async function dataOf<T>(asking: Promise<Answer<{ data: T }>>): Promise<T> {
  return (await bodyOf(asking)).data;
}

/** @throws ApiProblem when the api refused */
export async function done(asking: Promise<Answer<unknown>>): Promise<void> {
  const { error, response } = await asking;
  if (!response.ok) throw apiProblem(response.status, error);
}
