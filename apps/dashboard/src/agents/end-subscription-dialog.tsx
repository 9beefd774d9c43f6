import type { McpSubscription } from '../api/resources.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { FailureNotice } from '../ui/notice.js';
import { toastDone } from '../ui/toast-queue.js';
import { useEndSubscription } from './subscriptions-query.js';

interface EndSubscriptionDialogProps {
  readonly subscription: McpSubscription;
  readonly onClose: () => void;
}

export function EndSubscriptionDialog({ subscription, onClose }: EndSubscriptionDialogProps) {
  const ending = useEndSubscription();
  return (
    <Dialog
      open
      onClose={onClose}
      title="End this subscription?"
      description={
        <p>
          The agent gets no more <code>{subscription.event}</code> events, and a message that says so. With a valid key
          it can subscribe again: to prevent that, revoke <code>{subscription.key_id}</code>.
        </p>
      }
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="danger"
            icon="trash"
            busy={ending.isPending}
            onClick={() => {
              ending.mutate(subscription.id, {
                onSuccess: () => {
                  toastDone('Subscription ended');
                  onClose();
                },
              });
            }}
          >
            End subscription
          </Button>
        </>
      }
    >
      {ending.isError && <FailureNotice error={ending.error} />}
    </Dialog>
  );
}
