import type { ApiKeyId } from '#libs/domain';

/** Who makes a change, for the audit log. */
export interface AuditActor {
  readonly kind: 'api_key' | 'dashboard';
  readonly keyId: ApiKeyId;
  /** The beginning of the name of the dashboard session. */
  readonly session: string | null;
  readonly address: string;
  readonly requestId: string;
}

/** The command line and the processes themselves are the operator's. */
export const OPERATOR = null;
