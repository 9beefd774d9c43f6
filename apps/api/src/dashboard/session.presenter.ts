import { GaplessError } from '#libs/domain';
import type { AuthenticatedKey } from '../auth/authenticated-key.js';
import type { DashboardSession } from '../auth/dashboard-session.js';

/** Returns a session for the pages: its org and key, its permissions, and the CSRF token for requests. */
export function sessionJson(key: AuthenticatedKey, session: DashboardSession, hasLiveChatAlerts: boolean) {
  return {
    org_id: orgOf(key),
    key_id: key.id,
    scopes: key.scopes,
    expires_at: session.expiresAt.toISOString(),
    csrf_token: session.csrfToken,
    live_chat_alerts: hasLiveChatAlerts,
  };
}

/** @throws GaplessError `insufficient_scope` for a service key, which has no organization */
export function orgOf({ orgId }: AuthenticatedKey): string {
  if (orgId === null) {
    throw new GaplessError(
      'insufficient_scope',
      'A service key is not bound to an organization, and cannot sign in to the dashboard.',
    );
  }
  return orgId;
}
