import type { AuditEntry } from '../api/resources.js';

const TEXTS: Readonly<Record<AuditEntry['action'], string>> = {
  'endpoint.created': 'Endpoint created',
  'endpoint.changed': 'Endpoint changed',
  'endpoint.enabled': 'Endpoint enabled',
  'endpoint.disabled': 'Endpoint disabled',
  'endpoint.deleted': 'Endpoint deleted',
  'endpoint.secret_rotated': 'Secret rotated',
  'endpoint.overlap_ended': 'Old secret ended',
  'delivery.replayed': 'Delivery replayed',
  'delivery.skipped': 'Delivery skipped',
  'deliveries.recovered': 'Deliveries recovered',
  'recovery.stopped': 'Recovery stopped',
  'api_key.created': 'API key created',
  'api_key.revoked': 'API key revoked',
  'live_chat_settings.changed': 'Live-chat settings changed',
  'cursor.created': 'Cursor created',
  'cursor.moved_back': 'Cursor moved back',
  'cursor.deleted': 'Cursor deleted',
  'mcp_subscription.created': 'Agent subscribed',
  'mcp_subscription.secret_rotated': 'Secret of an agent rotated',
  'mcp_subscription.ended': 'Subscription of an agent ended',
  'signing_key.rotated': 'Signing key replaced',
  'org.put': 'Organization record set',
  'org.deleted': 'Organization deleted',
  'portal_session.created': 'Portal link created',
  'portal_session.opened': 'Portal opened',
};

/** Returns the text for an action. */
export function actionText(action: AuditEntry['action']): string {
  return TEXTS[action];
}

type DetailText = readonly [name: string, text: string];

/**
 * Returns details as names and texts in words: `changed`, `name, max per second`. A member of an object is named with its
 * path, such as `delivery ordering by`. Members without a value are left out.
 */
export function detailTexts(details: AuditEntry['details']): readonly DetailText[] {
  return Object.entries(details).flatMap(([name, value]) =>
    textsOf(wordsOf(name), name === 'changed' && Array.isArray(value) ? value.map(String).map(wordsOf) : value),
  );
}

/** Returns a name of the api in words. Entries of earlier versions have names such as `maxPerSecond`. */
function wordsOf(name: string): string {
  return name
    .replaceAll('_', ' ')
    .replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll(/\b(?:url|id)/g, (word) => word.toUpperCase());
}

function textsOf(name: string, value: unknown): readonly DetailText[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return [[name, value.join(', ')]];
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([key, inner]) => textsOf(`${name} ${wordsOf(key)}`, inner));
  return [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
}
