import { lazy, Suspense, useEffect, useSyncExternalStore, type ReactNode } from 'react';
import { hasToasts, onToast } from './toast-queue.js';

/** The first page does not wait for what shows toasts. It must be there before an action fails without a connection. */
const LOAD_AFTER_MS = 2_000;
const load = () => import('./toast-list.js');
const ToastList = lazy(async () => ({ default: (await load()).ToastList }));

export function Toasts({ children }: { readonly children: ReactNode }) {
  const isShown = useSyncExternalStore(onToast, hasToasts);
  useEffect(() => {
    const timer = setTimeout(() => {
      // A toast would load it again.
      load().catch(() => undefined);
    }, LOAD_AFTER_MS);
    return () => {
      clearTimeout(timer);
    };
  }, []);
  return (
    <>
      {children}
      {isShown && (
        <Suspense>
          <ToastList />
        </Suspense>
      )}
    </>
  );
}
