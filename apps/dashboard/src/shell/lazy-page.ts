import { lazyRouteComponent } from '@tanstack/react-router';
import { fetchInTime } from '../api/client.js';
import { reportNoAnswer } from '../api/connection.js';
import { NoAnswer } from '../api/no-answer.js';

const TIMEOUT_MS = 10_000;

/**
 * Returns a page that is loaded when somebody goes there. Without an answer it fails in time, and can be tried again. A
 * page that the server no longer has is that of an earlier version: the browser then loads everything again.
 */
export const lazyPage: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => inTime(load()), name);

async function inTime<T>(loading: Promise<T>): Promise<T> {
  let giveUp: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    giveUp = setTimeout(() => {
      reject(new NoAnswer('too late', false));
    }, TIMEOUT_MS);
  });
  try {
    return await Promise.race([loading, tooLate]);
  } catch (error) {
    if (error instanceof NoAnswer) reportNoAnswer();
    // Whether the server is away, or only the page.
    else await fetchInTime(new Request(location.href, { method: 'HEAD' }));
    throw error;
  } finally {
    clearTimeout(giveUp);
  }
}
