import { useState, type SyntheticEvent } from 'react';
import type { Endpoint } from '../api/resources.js';
import { Button } from '../ui/button.js';
import { CancelButton, Dialog } from '../ui/dialog.js';
import { TextField } from '../ui/field.js';
import { isolated, Name } from '../ui/name.js';
import { FailureNotice } from '../ui/notice.js';
import { toastDone } from '../ui/toast-queue.js';
import { useDeleteEndpoint } from './endpoint-changes.js';
import { endpointTitle, isTitleTyped } from './endpoint-title.js';

interface DeleteDialogProps {
  readonly endpoint: Endpoint;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

const FORM = 'delete-endpoint';

/** Deletes an endpoint after its user has typed the name, because this cannot be undone. */
export function DeleteDialog({ endpoint, onClose, onDeleted }: DeleteDialogProps) {
  const [typed, setTyped] = useState('');
  const deleting = useDeleteEndpoint(endpoint.id);
  const title = endpointTitle(endpoint);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!isTitleTyped(typed, title)) return;
    deleting.mutate(undefined, {
      onSuccess: () => {
        toastDone(`Deleted “${isolated(title)}”`);
        onDeleted();
      },
    });
  };
  return (
    <Dialog
      open
      busy={deleting.isPending}
      onClose={onClose}
      title={
        <>
          Delete “<Name wraps>{title}</Name>”?
        </>
      }
      description={
        <p>
          The endpoint, its secret and its <strong>whole delivery history</strong> are gone at once, and retries that
          wait are not sent. The events stay in the feed.
        </p>
      }
      actions={
        <>
          <CancelButton busy={deleting.isPending} onClose={onClose} />
          <Button
            type="submit"
            form={FORM}
            look="danger"
            icon="trash"
            disabled={!isTitleTyped(typed, title)}
            busy={deleting.isPending}
          >
            Delete endpoint
          </Button>
        </>
      }
    >
      <form id={FORM} onSubmit={submit}>
        <TextField
          label={
            <>
              Type “<Name wraps>{title}</Name>” to confirm
            </>
          }
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
          }}
        />
      </form>
      {deleting.isError && <FailureNotice error={deleting.error} />}
    </Dialog>
  );
}
