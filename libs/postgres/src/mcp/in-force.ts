/**
 * Whether the subscription `m` may still be delivered to: it has not ended or expired, and its key `k` is valid. Events
 * go no longer than that, whatever else is late.
 */
export const IS_IN_FORCE = `(m.ended_at is null and (m.granted_until is null or m.granted_until > now())
  and k.id is not null and k.revoked_at is null and (k.expires_at is null or k.expires_at > now()))`;
