import type { ApiKey } from '../api/resources.js';

export type KeyState = 'active' | 'expired' | 'revoked';

export function keyState({ revoked_at: revoked, expires_at: expires }: ApiKey, nowMs: number): KeyState {
  if (revoked !== null) return 'revoked';
  return expires !== null && new Date(expires).getTime() <= nowMs ? 'expired' : 'active';
}
