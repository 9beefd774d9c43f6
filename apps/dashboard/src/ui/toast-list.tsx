import { Toast } from '@base-ui/react/toast';
import { useEffect } from 'react';
import { IconButton } from './button.js';
import { Icon } from './icon.js';
import { onToast, takeToasts } from './toast-queue.js';
import './toasts.css';

const FAILURE_SHOWN_MS = 10_000;
const manager = Toast.createToastManager();

/** Shows toasts above the page. */
export function ToastList() {
  useEffect(() => {
    const show = () => {
      for (const { title, description, type } of takeToasts()) {
        manager.add({ title, description, type, ...(type === 'bad' ? { timeout: FAILURE_SHOWN_MS } : {}) });
      }
    };
    show();
    return onToast(show);
  }, []);
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function List() {
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
