import type { ApiKey } from '../api/resources.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { FailureNotice, Notice } from '../ui/notice.js';
import { toastDone } from '../ui/toast-queue.js';
import { useRevokeKey } from './key-changes.js';

interface RevokeKeyDialogProps {
  readonly apiKey: ApiKey;
  /** Whether the present session belongs to this key. */
  readonly isOwn: boolean;
  readonly onClose: () => void;
}

export function RevokeKeyDialog({ apiKey, isOwn, onClose }: RevokeKeyDialogProps) {
  const revoking = useRevokeKey();
  return (
    <Dialog
      open
      onClose={onClose}
      title="Revoke this API key?"
      description={
        <p>
          Whatever uses {apiKey.name === null ? <code>{apiKey.id}</code> : <strong>{apiKey.name}</strong>} is refused
          from its next request on. There is no way back.
        </p>
      }
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="danger"
            icon="trash"
            busy={revoking.isPending}
            onClick={() => {
              revoking.mutate(apiKey.id, {
                onSuccess: () => {
                  toastDone('API key revoked');
                  onClose();
                },
              });
            }}
          >
            Revoke key
          </Button>
        </>
      }
    >
      {isOwn && (
        <Notice tone="wait" title="You are signed in with this key">
          Revoking it signs you out.
        </Notice>
      )}
      {revoking.isError && <FailureNotice error={revoking.error} />}
    </Dialog>
  );
}
