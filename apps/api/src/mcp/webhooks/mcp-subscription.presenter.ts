import { callbackFailureOf } from '#libs/domain';
import type { FeedBounds, McpSubscription } from '#libs/postgres';

function status({ isEnded, isActive }: McpSubscription): 'active' | 'suspended' | 'ended' {
  if (isEnded) return 'ended';
  return isActive ? 'active' : 'suspended';
}

/** A subscription as the organization's people see it, without its secret. */
export function mcpSubscriptionJson(subscription: McpSubscription, { headSeq }: FeedBounds) {
  const { id, keyId, name, url, watermarkSeq, grantedUntil, lastSuccessAt, lastError } = subscription;
  return {
    id,
    key_id: keyId,
    event: name,
    arguments: subscription.arguments,
    url,
    status: status(subscription),
    seq: watermarkSeq,
    behind: Math.max(0, headSeq - watermarkSeq),
    last_delivered_at: lastSuccessAt?.toISOString() ?? null,
    last_error: lastError === null ? null : callbackFailureOf(lastError),
    expires_at: grantedUntil?.toISOString() ?? null,
    refreshed_at: subscription.refreshedAt.toISOString(),
    created_at: subscription.createdAt.toISOString(),
  };
}
