import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import { Button, IconButton } from './button.js';
import './dialog.css';

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  /** Whether Escape, a cross or a press beside it closes the dialog; false if something would be lost. */
  readonly dismissible?: boolean;
  /** Whether a request runs. Until its answer is there, nothing closes the dialog: the answer would be lost with it. */
  readonly busy?: boolean;
  readonly children?: ReactNode;
  readonly actions: ReactNode;
}

export function Dialog({
  open,
  onClose,
  title,
  description,
  dismissible = true,
  busy = false,
  children,
  actions,
}: DialogProps) {
  return (
    <Base.Root
      open={open}
      disablePointerDismissal={!dismissible || busy}
      onOpenChange={(isOpen, { reason }) => {
        if (!isOpen && !busy && (dismissible || reason === 'close-press')) onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="dialog-backdrop" />
        <Base.Popup className="dialog">
          <header className="dialog-header">
            <Base.Title className="dialog-title">{title}</Base.Title>
            {dismissible && (
              <Base.Close render={<IconButton icon="cross" label="Close" aria-disabled={busy || undefined} />} />
            )}
          </header>
          {description !== undefined && (
            <Base.Description className="dialog-description" render={<div />}>
              {description}
            </Base.Description>
          )}
          {children}
          <footer className="dialog-actions">{actions}</footer>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface CancelButtonProps {
  readonly busy: boolean;
  readonly onClose: () => void;
}

/** Closes a dialog, but not while its request runs. */
export function CancelButton({ busy, onClose }: CancelButtonProps) {
  return (
    <Button onClick={onClose} reason={busy ? 'Wait for the answer.' : undefined}>
      Cancel
    </Button>
  );
}
