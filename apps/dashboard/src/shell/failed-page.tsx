import { useQueryErrorResetBoundary } from '@tanstack/react-query';
import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef } from 'react';
import { useConnection } from '../api/connection.js';
import { FailureNotice } from '../ui/notice.js';

/** Replaces a page that could not be shown, and tries again by itself when the connection is back. */
export function FailedPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const queries = useQueryErrorResetBoundary();
  const retry = () => {
    queries.reset();
    reset();
    void router.invalidate();
  };
  const retryNow = useEffectEvent(retry);
  const isUp = useConnection((connection) => connection.isUp);
  const wasUp = useRef(isUp);
  useEffect(() => {
    if (isUp && !wasUp.current) retryNow();
    wasUp.current = isUp;
  }, [isUp]);
  return (
    <div className="failed-page">
      <FailureNotice error={error} onRetry={retry} />
    </div>
  );
}
