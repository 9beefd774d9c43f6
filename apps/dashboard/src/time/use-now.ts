import { useEffect, useState } from 'react';
import { browserClock } from './clock.js';

/** The time, read again every `intervalMs` for as long as the component is shown. */
export function useNow(intervalMs: number): number {
  const [now, setNow] = useState(() => browserClock.now());
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(browserClock.now());
    }, intervalMs);
    return () => {
      clearInterval(timer);
    };
  }, [intervalMs]);
  return now;
}
