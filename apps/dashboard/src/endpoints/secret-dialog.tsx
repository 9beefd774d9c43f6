import { useState } from 'react';
import { CopyButton } from '../ui/copy-button.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Checkbox } from '../ui/field.js';
import { Notice } from '../ui/notice.js';
import { useSecretGuard } from './use-secret-guard.js';
import './secret-dialog.css';

interface SecretDialogProps {
  readonly title: string;
  /** The kind of secret: `secret`, `API key`. */
  readonly what: string;
  readonly secret: string;
  readonly hint: string;
  readonly onClose: () => void;
}

/** Shows a secret this once. It closes only after the user has confirmed that the secret is stored. */
export function SecretDialog({ title, what, secret, hint, onClose }: SecretDialogProps) {
  const [isKept, setKept] = useState(false);
  useSecretGuard(!isKept, 'The secret is not stored yet. Leave without it?');
  return (
    <Dialog
      open
      dismissible={false}
      onClose={onClose}
      title={title}
      description={hint}
      actions={
        <Button look="solid" disabled={!isKept} onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="secret">
        <code className="secret-text" data-testid="secret">
          {secret}
        </code>
        <CopyButton text={secret} what={what} />
      </div>
      <Notice tone="wait" title="This is the only time that you see it">
        Store it where your other secrets are. It cannot be read again; if it is lost, make a new one.
      </Notice>
      <Checkbox
        checked={isKept}
        onChange={(event) => {
          setKept(event.target.checked);
        }}
      >
        I have stored the {what}
      </Checkbox>
    </Dialog>
  );
}
