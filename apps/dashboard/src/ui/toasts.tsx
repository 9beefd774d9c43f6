import { Toast } from '@base-ui/react/toast';
import type { ReactNode } from 'react';
import { failureText } from '../api/api-problem.js';
import { IconButton } from './button.js';
import { Icon } from './icon.js';
import './toasts.css';

const manager = Toast.createToastManager();

/** Shows briefly that something was done. */
export function toastDone(title: string, description?: string): void {
  manager.add({ title, description, type: 'good' });
}

/** Shows briefly that something failed. If there is a place for the failure on the page, show it there. */
export function toastFailure(title: string, error: unknown): void {
  manager.add({ title, description: failureText(error), type: 'bad', timeout: 10_000 });
}

export function Toasts({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider toastManager={manager}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={`toast toast-${toast.type ?? 'good'}`}>
      <Toast.Content className="toast-content">
        <Icon name={toast.type === 'bad' ? 'warning' : 'check'} />
        <div className="toast-text">
          <Toast.Title className="toast-title" />
          <Toast.Description className="toast-description" />
        </div>
        <Toast.Close render={<IconButton icon="cross" label="Dismiss" />} />
      </Toast.Content>
    </Toast.Root>
  ));
}
