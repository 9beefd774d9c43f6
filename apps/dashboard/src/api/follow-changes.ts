import type { Query, QueryClient } from '@tanstack/react-query';
import { ApiProblem } from './api-problem.js';
import { openEventStream } from './event-source.js';
import type { EventStream } from './event-stream.js';
import { reportAnswer, reportHead, reportNoAnswer, reportStream } from './connection.js';
import { organizationQuery } from './queries.js';
import { refresh } from './refresh.js';
import { browserClock } from '../time/clock.js';

const REOPEN_MS = 5_000;
/** The service sends something every 18 s. A stream that is silent for longer is dead, although nobody has closed it. */
const SILENT_MS = 20_000;
/** A busy log moves many times a second. The figures follow at most this often. */
const FIGURES_EVERY_MS = 2_500;
/** With more endpoints, their activity follows changes at most so often. */
const MANY_ENDPOINTS = 300;
const LARGE_EVERY_MS = 30_000;

/** The ids of what is being deleted. Until its page is left, a request for it would find nothing. */
const leaving = new Set<unknown>();

/** Says whether the thing with this id is being deleted. Its data is not requested again then. */
export function reportLeaving(id: string, isLeaving: boolean): void {
  if (isLeaving) leaving.add(id);
  else leaving.delete(id);
}

/** Whether a query was refused, such as a window with too much to count. It would be refused again, after a long count. */
function isRefused({ state: { error } }: Query): boolean {
  return error instanceof ApiProblem && error.status === 422;
}

/**
 * Whether a query has the activity of very many endpoints from a moment ago. It is megabytes, and a change of any endpoint
 * would request all of it.
 */
function isLargeAndNew({ queryKey, state: { data, dataUpdatedAt } }: Query): boolean {
  const isLarge = queryKey[0] === 'activity' && Array.isArray(data) && data.length > MANY_ENDPOINTS;
  return isLarge && browserClock.now() - dataUpdatedAt < LARGE_EVERY_MS;
}

/** Requests everything again that is shown and may have changed. */
function refreshLive(queries: QueryClient): void {
  refresh(queries, {
    predicate: (query) =>
      query.meta?.['isLive'] === true &&
      !isRefused(query) &&
      !isLargeAndNew(query) &&
      !query.queryKey.some((part) => leaving.has(part)),
  });
}

/**
 * Follows the one stream of changes while the page is visible, so that idle pages ask rarely. A browser opens few
 * connections to a server, so hidden tabs have none.
 * @returns a function that ends it
 */
export function followChanges(queries: QueryClient): () => void {
  let source: EventStream | undefined;
  let reopening: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let figures: ReturnType<typeof setTimeout> | undefined;
  let first: ReturnType<typeof setTimeout> | undefined;
  let wasOpen = false;

  const checkNow = () => {
    refreshLive(queries);
  };
  /** The connection is lost unless the server answers something else at once. */
  const askWhetherLost = () => {
    reportNoAnswer();
    // Some pages show nothing that changes, but all of them show the organization.
    refresh(queries, { queryKey: organizationQuery().queryKey });
    refreshLive(queries);
  };
  const followFigures = () => {
    figures ??= setTimeout(() => {
      figures = undefined;
      refresh(queries, { queryKey: ['overview'], predicate: (query) => !isRefused(query) });
    }, FIGURES_EVERY_MS);
  };
  const close = () => {
    clearTimeout(reopening);
    clearTimeout(silence);
    source?.close();
    source = undefined;
    reportStream(false);
  };
  const listen = () => {
    clearTimeout(silence);
    silence = setTimeout(() => {
      askWhetherLost();
      open();
    }, SILENT_MS);
  };
  const open = () => {
    close();
    listen();
    const opened = openEventStream('/api/v1/dashboard/changes');
    source = opened;
    opened.onopen = () => {
      reportAnswer();
      reportStream(true);
      // Whatever changed before the stream was open. The service remembers its figures for 2 s, so a page that has
      // just loaded them asks again after that.
      if (wasOpen) {
        refreshLive(queries);
        followFigures();
      } else first = setTimeout(checkNow, FIGURES_EVERY_MS);
      wasOpen = true;
    };
    opened.onerror = () => {
      reportStream(false);
      askWhetherLost();
      // The browser reconnects by itself after a break, but not after an error status such as 503.
      if (opened.readyState === EventSource.CLOSED) reopening = setTimeout(open, REOPEN_MS);
    };
    opened.addEventListener('beat', listen);
    opened.addEventListener('changed', () => {
      listen();
      refreshLive(queries);
    });
    opened.addEventListener('head', ({ data }) => {
      listen();
      reportHead(Number(data));
      followFigures();
    });
  };
  const followVisibility = () => {
    if (document.visibilityState === 'hidden') close();
    else if (source === undefined) open();
  };

  document.addEventListener('visibilitychange', followVisibility);
  window.addEventListener('offline', checkNow);
  window.addEventListener('online', checkNow);
  followVisibility();
  return () => {
    document.removeEventListener('visibilitychange', followVisibility);
    window.removeEventListener('offline', checkNow);
    window.removeEventListener('online', checkNow);
    clearTimeout(figures);
    clearTimeout(first);
    close();
  };
}
