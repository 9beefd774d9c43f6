import { useEffect, useState } from 'react';
import { browserClock } from './clock.js';

/** Returns the time, and updates it every `intervalMs` while the component is shown. */
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
