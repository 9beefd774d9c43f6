import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useConnection } from '../api/connection.js';
import { words } from '../session/wording.js';
import { zonedTime } from '../time/time-text.js';
import { Icon } from '../ui/icon.js';

const TRY_EVERY_MS = 3_000;

/** Says on every page since when nothing is updated, and asks for everything that is shown until there is an answer. */
export function ConnectionBanner() {
  const queries = useQueryClient();
  const isUp = useConnection((connection) => connection.isUp);
  const answeredMs = useConnection((connection) => connection.answeredMs);
  useEffect(() => {
    if (isUp) return undefined;
    // A request that waits for a server that hangs is not replaced: the browser keeps few connections to a server.
    const tryAgain = () => void queries.refetchQueries({ type: 'active' }, { cancelRefetch: false });
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
    </div>
  );
}
