import { useState } from 'react';
import type { Endpoint, EndpointWithNewSecret } from '../api/resources.js';
import { ConfirmDialog } from '../ui/confirm-dialog.js';
import { Segments } from '../ui/segments.js';
import { useRotateSecret } from './endpoint-changes.js';
import { SECRET_TO_COME, useSecretGuard } from './use-secret-guard.js';

interface RotateDialogProps {
  readonly endpoint: Endpoint;
  readonly onClose: () => void;
  readonly onRotated: (endpoint: EndpointWithNewSecret) => void;
}

/** How long the old secret still signs beside the new one. */
const OVERLAPS = [
  { value: 0, text: 'Stops at once' },
  { value: 3_600, text: 'Signs for 1 more hour' },
  { value: 86_400, text: 'Signs for 1 more day' },
] as const;

export function RotateDialog({ endpoint, onClose, onRotated }: RotateDialogProps) {
  const rotating = useRotateSecret(endpoint.id);
  const [overlap, setOverlap] = useState<number>(0);
  useSecretGuard(rotating.isPending, SECRET_TO_COME);
  return (
    <ConfirmDialog
      onClose={onClose}
      title="Rotate the secret?"
      description={
        overlap === 0 ? (
          <p>
            The secret in use stops verifying <strong>at once</strong>, for retries and replays too. Until your receiver
            has the new one, it refuses pushes. They are sent again later.
          </p>
        ) : (
          <p>
            Both secrets sign until then: <code>X-Service-Signature</code> has two <code>v1</code>. Check first that
            your receiver accepts this. You can stop the old secret earlier.
          </p>
        )
      }
      action="Rotate secret"
      icon="key"
      busy={rotating.isPending}
      failure={rotating.error}
      onConfirm={() => {
        rotating.mutate(overlap, { onSuccess: onRotated });
      }}
    >
      <Segments label="The secret in use" options={OVERLAPS} value={overlap} onChange={setOverlap} />
    </ConfirmDialog>
  );
}
