import { useEffect, useState } from 'react';
import { useConnection } from '../api/connection.js';
import { browserClock } from './clock.js';

/**
 * Returns the time, and updates it every `intervalMs` while the component is shown. Without a connection the time stands
 * still: what runs on would look live.
 */
export function useNow(intervalMs: number): number {
  const [now, setNow] = useState(() => browserClock.now());
  const isUp = useConnection((connection) => connection.isUp);
  useEffect(() => {
    if (!isUp) return undefined;
    const timer = setInterval(() => {
      setNow(browserClock.now());
    }, intervalMs);
    return () => {
      clearInterval(timer);
    };
  }, [intervalMs, isUp]);
  return now;
}
