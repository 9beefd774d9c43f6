import type { Config } from '#libs/runtime';
import type { ResumedPortalSession } from './portal-sessions.js';

/** What the portal shows in place of our own name and colour. */
export type Branding = Pick<Config, 'portalName' | 'portalLogoUrl' | 'portalAccent'>;

/** Returns a session for the pages of the portal: the org, what may be done, and how the portal looks. */
export function portalSessionJson(
  { key, portal }: ResumedPortalSession,
  branding: Branding,
  hasLiveChatAlerts: boolean,
) {
  return {
    id: portal.id,
    org_id: key.orgId,
    scopes: key.scopes,
    user_label: portal.userLabel,
    return_url: portal.returnUrl,
    expires_at: portal.expiresAt.toISOString(),
    live_chat_alerts: hasLiveChatAlerts,
    branding: { name: branding.portalName, logo_url: branding.portalLogoUrl, accent: branding.portalAccent },
  };
}
