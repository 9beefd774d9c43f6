import { lazy, Suspense, useSyncExternalStore, type ReactNode } from 'react';
import { hasToasts, onToast } from './toast-queue.js';

// The first page does not wait for what shows them.
const ToastList = lazy(async () => ({ default: (await import('./toast-list.js')).ToastList }));

export function Toasts({ children }: { readonly children: ReactNode }) {
  const isShown = useSyncExternalStore(onToast, hasToasts);
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
