import type { Scope } from '../api/resources.js';

/** What each scope allows, in the order in which the page lists them. */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  'webhooks:read': 'See endpoints, their health and their deliveries',
  'webhooks:write': 'Create, change, test and delete endpoints; replay, skip and recover',
  'events:read': 'Read the feed',
  'events:write': 'Submit events',
  'settings:read': 'See live-chat settings, waiting chats and alerts',
  'settings:write': 'Change live-chat settings',
  'keys:write': 'List, create and revoke API keys',
};

export const SCOPES = Object.keys(SCOPE_MEANINGS) as readonly Scope[];
