import { randomBytes } from 'node:crypto';
import { grantUntil, SEQ_NONE, subscriptionIdOf, systemClock, type OrgId } from '#libs/domain';
import type { McpSubscriptions } from '#libs/postgres';
import { Identifiers } from '#libs/runtime';

const identifiers = new Identifiers(systemClock);

/** A webhook subscription of the agent with this key, whose callback has agreed. @returns its id */
export async function anMcpSubscription(
  subscriptions: McpSubscriptions,
  { orgId, keyId, url }: { readonly orgId: OrgId; readonly keyId: string; readonly url: string },
): Promise<string> {
  const name = 'ticket.created';
  const id = subscriptionIdOf({ principal: keyId, url, name, arguments: {} });
  const at = new Date();
  await subscriptions.subscribe(
    {
      id,
      orgId,
      endpointId: identifiers.endpointId(),
      keyId,
      url,
      name,
      arguments: {},
      widgetId: null,
      filter: null,
      secret: `whsec_${randomBytes(32).toString('base64')}`,
      grantedUntil: grantUntil(undefined, at.getTime()),
      since: SEQ_NONE,
      at,
      overlapsUntil: at,
      keptSince: new Date(0),
    },
    1_000,
  );
  return id;
}
