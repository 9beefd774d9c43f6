import type { ApiKeyId } from '#libs/domain';

/** Who makes a change, for the audit log. */
export interface AuditActor {
  readonly kind: 'api_key' | 'dashboard';
  readonly keyId: ApiKeyId;
  /** The beginning of the dashboard session's name. */
  readonly session: string | null;
  readonly address: string;
  readonly requestId: string;
}

/** The actor of changes by the command line and by the processes themselves. */
export const OPERATOR = null;
