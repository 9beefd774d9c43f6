import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { EndpointWithHealth, EndpointWithNewSecret } from '../api/resources.js';
import { useLack } from '../session/use-session.js';
import { Button, ButtonLink, IconButton } from '../ui/button.js';
import { Menu, type MenuAction } from '../ui/menu.js';
import { toastDone, toastFailure } from '../ui/toast-queue.js';
import { DeleteDialog } from './delete-dialog.js';
import { useChangeEndpoint, useStopPreviousSecret } from './endpoint-changes.js';
import { RotateDialog } from './rotate-dialog.js';
import { SecretDialog } from './secret-dialog.js';

/** The open dialog. */
type Asking =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'rotate' }
  | { readonly kind: 'delete' }
  | { readonly kind: 'new-secret'; readonly endpoint: EndpointWithNewSecret };

const NOTHING: Asking = { kind: 'nothing' };

interface EndpointActionsProps {
  readonly endpoint: EndpointWithHealth;
  readonly isTesting: boolean;
  readonly onTest: () => void;
  readonly onRecover: () => void;
}

/** The actions on an endpoint. */
export function EndpointActions({ endpoint, isTesting, onTest, onRecover }: EndpointActionsProps) {
  const [asking, setAsking] = useState<Asking>(NOTHING);
  const lack = useLack('webhooks:write');
  const changing = useChangeEndpoint(endpoint.id);
  const stopping = useStopPreviousSecret(endpoint.id);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const leave = async () => {
    await navigate({ to: '/endpoints' });
    queries.removeQueries({ queryKey: ['endpoints', endpoint.id] });
  };
  const isActive = endpoint.is_active;
  const setActive = (active: boolean) => {
    changing.mutate(
      { is_active: active },
      {
        onSuccess: () => {
          toastDone(active ? 'Endpoint enabled' : 'Endpoint paused');
        },
        onError: (error) => {
          toastFailure(active ? 'Not enabled' : 'Not paused', error);
        },
      },
    );
  };
  const stopPreviousSecret = () => {
    stopping.mutate(undefined, {
      onSuccess: () => {
        toastDone('Only the current secret signs now');
      },
      onError: (error) => {
        toastFailure('The previous secret still signs', error);
      },
    });
  };
  const more: readonly MenuAction[] = [
    isActive
      ? { icon: 'pause', text: 'Pause', disabled: lack !== undefined, onSelect: () => setActive(false) }
      : { icon: 'play', text: 'Enable', disabled: lack !== undefined, onSelect: () => setActive(true) },
    { icon: 'recover', text: 'Recover deliveries …', disabled: lack !== undefined, onSelect: onRecover },
    {
      icon: 'key',
      text: 'Rotate secret …',
      disabled: lack !== undefined,
      onSelect: () => setAsking({ kind: 'rotate' }),
    },
    { icon: 'key', text: 'Stop the previous secret', disabled: lack !== undefined, onSelect: stopPreviousSecret },
    {
      icon: 'trash',
      text: 'Delete …',
      danger: true,
      disabled: lack !== undefined,
      onSelect: () => setAsking({ kind: 'delete' }),
    },
  ];
  const close = () => {
    setAsking(NOTHING);
  };

  return (
    <>
      <Button
        icon="send"
        look="solid"
        busy={isTesting}
        reason={lack ?? (isActive ? undefined : 'The endpoint is not active. Enable it first.')}
        onClick={onTest}
      >
        Send test
      </Button>
      <ButtonLink icon="edit" to="/endpoints/$endpointId/edit" params={{ endpointId: endpoint.id }} reason={lack}>
        Edit
      </ButtonLink>
      <Menu trigger={<IconButton icon="more" label="More actions" />} actions={more} />
      {asking.kind === 'rotate' && (
        <RotateDialog
          endpoint={endpoint}
          onClose={close}
          onRotated={(rotated) => {
            setAsking({ kind: 'new-secret', endpoint: rotated });
          }}
        />
      )}
      {asking.kind === 'new-secret' && (
        <SecretDialog
          title="Secret rotated"
          what="secret"
          secret={asking.endpoint.secret}
          hint={
            asking.endpoint.previous_secret_expires_at === undefined
              ? 'Every push is now signed with this secret. The old one is invalid.'
              : 'Every push is now signed with both secrets. Give this one to your receiver soon.'
          }
          onClose={close}
        />
      )}
      {asking.kind === 'delete' && <DeleteDialog endpoint={endpoint} onClose={close} onDeleted={() => void leave()} />}
    </>
  );
}
