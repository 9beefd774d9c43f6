import { useQueryClient, useQueryErrorResetBoundary } from '@tanstack/react-query';
import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef } from 'react';
import { useConnection } from '../api/connection.js';
import { organizationQuery } from '../api/queries.js';
import { FailureNotice } from '../ui/notice.js';

const TRY_EVERY_MS = 3_000;

/** Replaces a page that could not be shown, and tries again by itself when the connection is back. */
export function FailedPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const failures = useQueryErrorResetBoundary();
  const queries = useQueryClient();
  const retry = () => {
    failures.reset();
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
  // A page that failed as a whole has nothing else that asks. Any session may ask this.
  useEffect(() => {
    if (isUp) return undefined;
    const ask = () => {
      queries.query({ ...organizationQuery(), staleTime: 0, retry: false }).catch(() => undefined);
    };
    const timer = setInterval(ask, TRY_EVERY_MS);
    return () => {
      clearInterval(timer);
    };
  }, [isUp, queries]);
  return (
    <div className="failed-page">
      <FailureNotice error={error} onRetry={retry} />
    </div>
  );
}
