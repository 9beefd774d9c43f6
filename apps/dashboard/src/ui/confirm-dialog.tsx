import type { ReactNode } from 'react';
import { Button } from './button.js';
import { CancelButton, Dialog } from './dialog.js';
import type { IconName } from './icon.js';
import { FailureNotice } from './notice.js';

interface ConfirmDialogProps {
  readonly title: string;
  readonly description: ReactNode;
  /** What the button that confirms says. */
  readonly action: string;
  readonly icon?: IconName;
  /** Whether the action is in progress. */
  readonly busy: boolean;
  readonly failure: Error | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** Asks before an action that cannot be undone, and shows why it failed. */
export function ConfirmDialog({
  title,
  description,
  action,
  icon = 'trash',
  busy,
  failure,
  onConfirm,
  onClose,
  children,
}: ConfirmDialogProps) {
  return (
    <Dialog
      open
      busy={busy}
      onClose={onClose}
      title={title}
      description={description}
      actions={
        <>
          <CancelButton busy={busy} onClose={onClose} />
          <Button look="danger" icon={icon} busy={busy} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      {children}
      {failure !== null && <FailureNotice error={failure} />}
    </Dialog>
  );
}
