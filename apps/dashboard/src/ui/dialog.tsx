import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import { IconButton } from './button.js';
import './dialog.css';

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  /** Whether Escape, a cross or a press beside it closes the dialog; false if something would be lost. */
  readonly dismissible?: boolean;
  readonly children?: ReactNode;
  readonly actions: ReactNode;
}

export function Dialog({ open, onClose, title, description, dismissible = true, children, actions }: DialogProps) {
  return (
    <Base.Root
      open={open}
      disablePointerDismissal={!dismissible}
      onOpenChange={(isOpen, { reason }) => {
        if (!isOpen && (dismissible || reason === 'close-press')) onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="dialog-backdrop" />
        <Base.Popup className="dialog">
          <header className="dialog-header">
            <Base.Title className="dialog-title">{title}</Base.Title>
            {dismissible && <Base.Close render={<IconButton icon="cross" label="Close" />} />}
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
