import { randomBytes } from 'node:crypto';
import {
  grantUntil,
  SEQ_NONE,
  subscriptionFilter,
  subscriptionIdOf,
  systemClock,
  type ContentArguments,
  type OrgId,
} from '#libs/domain';
import type { McpSubscriptions } from '#libs/postgres';
import { Identifiers } from '#libs/runtime';

const identifiers = new Identifiers(systemClock);

/** A webhook subscription of the agent with this key, whose callback has agreed. @returns its id */
export async function anMcpSubscription(
  subscriptions: McpSubscriptions,
  { orgId, keyId, url }: { readonly orgId: OrgId; readonly keyId: string; readonly url: string },
  given: ContentArguments = {},
): Promise<string> {
  const name = 'ticket.created';
  const id = subscriptionIdOf({ principal: keyId, url, name, arguments: { ...given } });
  const at = new Date();
  await subscriptions.subscribe(
    {
      id,
      orgId,
      endpointId: identifiers.endpointId(),
      keyId,
      url,
      name,
      arguments: { ...given },
      widgetId: null,
      filter: subscriptionFilter(name, given),
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
