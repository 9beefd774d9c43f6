import type { Endpoint, EndpointWithSecret } from '../api/resources.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { FailureNotice } from '../ui/notice.js';
import { useRotateSecret } from './endpoint-changes.js';

interface RotateDialogProps {
  readonly endpoint: Endpoint;
  readonly onClose: () => void;
  readonly onRotated: (endpoint: EndpointWithSecret) => void;
}

export function RotateDialog({ endpoint, onClose, onRotated }: RotateDialogProps) {
  const rotating = useRotateSecret(endpoint.id);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Rotate the secret?"
      description={
        <p>
          The secret in use stops verifying <strong>at once</strong>, for retries and replays too. Until your receiver
          has the new one, it will refuse what it is sent; what it refuses is retried.
        </p>
      }
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="danger"
            icon="key"
            busy={rotating.isPending}
            onClick={() => {
              rotating.mutate(undefined, { onSuccess: onRotated });
            }}
          >
            Rotate secret
          </Button>
        </>
      }
    >
      {rotating.isError && <FailureNotice error={rotating.error} />}
    </Dialog>
  );
}
