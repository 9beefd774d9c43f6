import { notifyManager, useQueryClient, type Query, type QueryFilters } from '@tanstack/react-query';
import { useCallback, useEffect, useSyncExternalStore } from 'react';
import { failureText } from '../api/api-problem.js';
import { useConnection } from '../api/connection.js';
import { words } from '../session/wording.js';
import { zonedTime } from '../time/time-text.js';
import { Icon } from '../ui/icon.js';
import { SessionEndNote } from './session-end-note.js';

const TRY_EVERY_MS = 3_000;

/**
 * Says on every page since when nothing is updated, and asks for everything that is shown until there is an answer. Then
 * it asks once more for what has failed. With a connection, it says since when a part of the page is not updated, and why.
 * It also says when the session ends soon.
 */
export function ConnectionBanner() {
  const queries = useQueryClient();
  const isUp = useConnection((connection) => connection.isUp);
  const answeredMs = useConnection((connection) => connection.answeredMs);
  const outdated = useOutdated();
  useEffect(() => {
    // A request that waits for a server that hangs is not replaced: the browser keeps few connections to a server.
    const tryAgain = (filters: QueryFilters = {}) =>
      void queries.refetchQueries({ ...filters, type: 'active' }, { cancelRefetch: false });
    if (isUp) {
      // One request was answered. Not all data that failed before is requested again by itself.
      tryAgain({ predicate: ({ state }) => state.status === 'error' });
      return undefined;
    }
    const timer = setInterval(tryAgain, TRY_EVERY_MS);
    return () => {
      clearInterval(timer);
    };
  }, [isUp, queries]);
  return (
    <div role="status" className="connection">
      {!isUp && (
        <p className="connection-lost">
          <Icon name="warning" />
          <span>
            <strong>Not updated since {zonedTime(new Date(answeredMs).toISOString())}.</strong> {words().service} cannot
            be reached. The page continues by itself when it can.
          </span>
        </p>
      )}
      {isUp && outdated !== undefined && (
        <p className="connection-lost">
          <Icon name="warning" />
          <span>
            <strong>
              A part of this page is not updated since {zonedTime(new Date(outdated.dataUpdatedAt).toISOString())}.
            </strong>{' '}
            {failureText(outdated.error)}
          </span>
        </p>
      )}
      <SessionEndNote />
    </div>
  );
}

/** Returns the oldest data that a page shows although its last request failed. */
function useOutdated(): Query['state'] | undefined {
  const cache = useQueryClient().getQueryCache();
  return useSyncExternalStore(
    useCallback((listener) => cache.subscribe(notifyManager.batchCalls(listener)), [cache]),
    () =>
      cache
        .findAll({ type: 'active' })
        .map(({ state }) => state)
        .filter(({ status, data }) => status === 'error' && data !== undefined)
        .toSorted((one, other) => one.dataUpdatedAt - other.dataUpdatedAt)[0],
  );
}
