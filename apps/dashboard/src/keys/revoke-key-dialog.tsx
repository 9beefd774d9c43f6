import type { ApiKey } from '../api/resources.js';
import { ConfirmDialog } from '../ui/confirm-dialog.js';
import { Name } from '../ui/name.js';
import { Notice } from '../ui/notice.js';
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
    <ConfirmDialog
      onClose={onClose}
      title="Revoke this API key?"
      description={
        <p>
          Whatever uses{' '}
          {apiKey.name === null ? (
            <code>{apiKey.id}</code>
          ) : (
            <strong>
              <Name wraps>{apiKey.name}</Name>
            </strong>
          )}{' '}
          is refused from its next request on. There is no way back.
        </p>
      }
      action="Revoke key"
      busy={revoking.isPending}
      failure={revoking.error}
      onConfirm={() => {
        revoking.mutate(apiKey.id, {
          onSuccess: () => {
            toastDone('API key revoked');
            onClose();
          },
        });
      }}
    >
      {isOwn && (
        <Notice tone="wait" title="You are signed in with this key">
          Revoking it signs you out.
        </Notice>
      )}
    </ConfirmDialog>
  );
}
