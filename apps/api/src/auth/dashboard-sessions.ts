import { Inject, Injectable } from '@nestjs/common';
import { GaplessError, type ApiKeyId, type Clock } from '#libs/domain';
import { DashboardSessionRecords, type SessionName, type StoredDashboardSession } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { SharedQuery } from '../http/shared-query.js';
import { isInForce } from './api-key-authenticator.js';
import type { AuthenticatedKey } from './authenticated-key.js';
import type { DashboardSession } from './dashboard-session.js';
import { KeyUses } from './key-uses.js';
import { csrfTokenOf, newSessionToken, sessionNameOf } from './session-token.js';

/** A working day, so that operators sign in once. */
const LIFETIME_MS = 12 * 60 * 60 * 1_000;

/** The dashboard's sessions. Each belongs to an API key, has its permissions, and ends with it. */
@Injectable()
export class DashboardSessions {
  readonly #stored: SharedQuery<SessionName, StoredDashboardSession>;

  constructor(
    private readonly records: DashboardSessionRecords,
    private readonly uses: KeyUses,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    // Nothing is cached: once a session or its key is revoked, the next request is refused.
    this.#stored = new SharedQuery((names) => records.find(names));
  }

  /** @returns the token of a new session, which cannot be read again */
  async open(
    key: AuthenticatedKey & { readonly id: ApiKeyId },
  ): Promise<{ readonly token: string; readonly session: DashboardSession }> {
    const token = newSessionToken();
    const nowMs = this.clock.now();
    const expiresAtMs = Math.min(nowMs + LIFETIME_MS, key.expiresAt?.getTime() ?? Infinity);
    const session = sessionOf(token, new Date(expiresAtMs));
    const { name, expiresAt } = session;
    await this.records.open({ name, apiKeyId: key.id, createdAt: new Date(nowMs), expiresAt });
    return { token, session };
  }

  /**
   * @param token the value of the cookie
   * @throws GaplessError `missing_api_key` for a session that is over, for any reason
   */
  async resume(token: string): Promise<{ readonly key: AuthenticatedKey; readonly session: DashboardSession }> {
    const name = sessionNameOf(token);
    const stored = (await this.#stored.ask([name])).get(name);
    const nowMs = this.clock.now();
    if (stored === undefined || !isOpen(stored, nowMs)) {
      throw new GaplessError('missing_api_key', 'The dashboard session has ended. Sign in again, or send an API key.');
    }
    const { id, orgId, scopes, expiresAt } = stored.key;
    this.uses.note(id, nowMs);
    return { key: { id, quota: id, orgId, scopes, expiresAt }, session: sessionOf(token, stored.expiresAt) };
  }

  /** Whether an earlier session is still open. */
  async isOpen({ name }: DashboardSession): Promise<boolean> {
    const stored = (await this.#stored.ask([name])).get(name);
    return stored !== undefined && isOpen(stored, this.clock.now());
  }

  async close({ name }: DashboardSession): Promise<void> {
    await this.records.close(name);
  }
}

function isOpen(stored: StoredDashboardSession, nowMs: number): boolean {
  return stored.expiresAt.getTime() > nowMs && isInForce(stored.key, nowMs);
}

function sessionOf(token: string, expiresAt: Date): DashboardSession {
  return { name: sessionNameOf(token), csrfToken: csrfTokenOf(token), expiresAt };
}
