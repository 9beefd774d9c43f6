import type { McpSubscription } from '../api/resources.js';
import { ConfirmDialog } from '../ui/confirm-dialog.js';
import { toastDone } from '../ui/toast-queue.js';
import { useEndSubscription } from './subscriptions-query.js';

interface EndSubscriptionDialogProps {
  readonly subscription: McpSubscription;
  readonly onClose: () => void;
}

export function EndSubscriptionDialog({ subscription, onClose }: EndSubscriptionDialogProps) {
  const ending = useEndSubscription();
  return (
    <ConfirmDialog
      onClose={onClose}
      title="End this subscription?"
      description={
        <p>
          The agent gets no more <code>{subscription.event}</code> events, and a message that says so. With a valid key
          it can subscribe again: to prevent that, revoke <code>{subscription.key_id}</code>.
        </p>
      }
      action="End subscription"
      busy={ending.isPending}
      failure={ending.error}
      onConfirm={() => {
        ending.mutate(subscription.id, {
          onSuccess: () => {
            toastDone('Subscription ended');
            onClose();
          },
        });
      }}
    />
  );
}
