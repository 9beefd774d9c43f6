import type { ApiKeyId } from '#libs/domain';

/** Who makes a change, for the audit log. */
export interface AuditActor {
  readonly kind: 'api_key' | 'dashboard' | 'portal';
  /** For the portal, the service key that made the session. */
  readonly keyId: ApiKeyId;
  /** The beginning of the dashboard session's name, or the id of the portal session. */
  readonly session: string | null;
  /** The user of the portal, as the product's backend calls them. */
  readonly userLabel?: string | null;
  readonly address: string;
  readonly requestId: string;
}

/** The actor of changes by the command line and by the processes themselves. */
export const OPERATOR = null;
