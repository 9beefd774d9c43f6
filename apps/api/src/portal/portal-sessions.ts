import { Inject, Injectable } from '@nestjs/common';
import {
  derivedPortalSessionId,
  GaplessError,
  type ApiKeyId,
  type Clock,
  type OrgId,
  type PortalSessionId,
} from '#libs/domain';
import {
  PortalSessionRecords,
  sha256OfSecret,
  type ApiKeyScope,
  type AuditActor,
  type StoredPortalSession,
} from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { Identifiers } from '#libs/runtime';
import { isInForce } from '../auth/api-key-authenticator.js';
import type { AuthenticatedKey } from '../auth/authenticated-key.js';
import { SharedQuery } from '../http/shared-query.js';
import { SeededSecrets } from '../idempotency/seeded-secrets.js';
import { linkToken, newPortalToken } from './portal-token.js';

/** A link is for a page that opens now, so one that leaks later opens nothing. */
const LINK_LIFETIME_MS = 15 * 60 * 1_000;

/** The portal session of a request, after it was checked. */
export interface PortalSession {
  readonly id: PortalSessionId;
  /** The hexadecimal SHA-256 of its token. */
  readonly tokenSha256: string;
  readonly serviceKeyId: ApiKeyId;
  readonly userLabel: string | null;
  readonly returnUrl: string | null;
  readonly expiresAt: Date;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** `null` for a request that the portal did not make, and outside of `/api/`. */
    portal: PortalSession | null;
  }
}

/** What the product's backend asks for. */
export interface PortalGrant {
  readonly orgId: OrgId;
  readonly scopes: readonly ApiKeyScope[];
  readonly lifetimeMs: number;
  readonly userLabel: string | null;
  readonly returnUrl: string | null;
}

/** A session that was opened, and the key that it acts as. */
export interface ResumedPortalSession {
  readonly key: AuthenticatedKey;
  readonly portal: PortalSession;
}

/**
 * The sessions of the customer portal. Each belongs to one org, has the scopes that it was given, and ends with the
 * service key that made it.
 */
@Injectable()
export class PortalSessions {
  readonly #stored: SharedQuery<string, StoredPortalSession>;
  readonly #unusedLinks: SharedQuery<string, Date>;

  constructor(
    private readonly records: PortalSessionRecords,
    private readonly identifiers: Identifiers,
    private readonly secrets: SeededSecrets,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    // Nothing is cached: once a session or its service key has ended, the next request is refused.
    this.#stored = new SharedQuery((tokens) => records.find(tokens));
    this.#unusedLinks = new SharedQuery((links) => records.unusedLinks(links));
  }

  /**
   * @param seed that of the request: if an earlier attempt at it made the session, that one is returned
   * @returns the session, and the token of its link, which cannot be read again
   */
  async create(serviceKeyId: ApiKeyId, grant: PortalGrant, actor: AuditActor, seed: string | null) {
    const token = linkToken(this.secrets.bytes(seed, 'link of a portal session'));
    const nowMs = this.clock.now();
    const session = {
      id:
        seed === null
          ? this.identifiers.portalSessionId()
          : derivedPortalSessionId(this.secrets.seedOf(seed, 'id of a portal session')),
      orgId: grant.orgId,
      apiKeyId: serviceKeyId,
      linkSha256: sha256OfSecret(token),
      scopes: grant.scopes,
      userLabel: grant.userLabel,
      returnUrl: grant.returnUrl,
      createdAt: new Date(nowMs),
      linkExpiresAt: new Date(nowMs + Math.min(LINK_LIFETIME_MS, grant.lifetimeMs)),
      expiresAt: new Date(nowMs + grant.lifetimeMs),
    };
    const ends = await this.records.by(actor).create(session);
    return { token, session: { ...session, ...ends } };
  }

  /**
   * Opens the session of a link.
   * @returns the session's token, which cannot be read again; `undefined` for a link that opens nothing
   */
  async open(
    linkToken: string,
    by: { readonly address: string; readonly requestId: string },
  ): Promise<(ResumedPortalSession & { readonly token: string }) | undefined> {
    const link = sha256OfSecret(linkToken);
    if (!(await this.#mayOpen(link.toString('hex')))) return undefined;
    const token = newPortalToken();
    const digest = sha256OfSecret(token);
    const stored = await this.records.open(link, digest, new Date(this.clock.now()), by);
    return stored === undefined ? undefined : { token, ...resumed(stored, digest.toString('hex')) };
  }

  /** Anyone can send made-up links. They share a query, so that they take no connections from other requests. */
  async #mayOpen(link: string): Promise<boolean> {
    const expiresAt = (await this.#unusedLinks.ask([link])).get(link);
    return expiresAt !== undefined && expiresAt.getTime() > this.clock.now();
  }

  /** @throws GaplessError `invalid_api_key` for a session that is over or unknown alike */
  async resume(token: string): Promise<ResumedPortalSession> {
    const digest = sha256OfSecret(token).toString('hex');
    const stored = (await this.#stored.ask([digest])).get(digest);
    if (stored === undefined || !this.#isOpen(stored)) {
      throw new GaplessError('invalid_api_key', 'The portal session has ended. Open the portal again.');
    }
    return resumed(stored, digest);
  }

  /** Whether an earlier session is still open. */
  async isOpen({ tokenSha256 }: PortalSession): Promise<boolean> {
    const stored = (await this.#stored.ask([tokenSha256])).get(tokenSha256);
    return stored !== undefined && this.#isOpen(stored);
  }

  async close({ id }: PortalSession): Promise<void> {
    await this.records.close(id);
  }

  #isOpen({ expiresAt, key }: StoredPortalSession): boolean {
    const nowMs = this.clock.now();
    return expiresAt.getTime() > nowMs && isInForce(key, nowMs);
  }
}

function resumed(stored: StoredPortalSession, tokenSha256: string): ResumedPortalSession {
  const { id, orgId, scopes, userLabel, returnUrl, expiresAt, key } = stored;
  return {
    // A backend opens a session for each visit. With a quota for each of them, a visitor could have any quota. Keys
    // that a session creates may outlive it: the backend decides by the scope keys:write.
    key: { id, quota: `portal of ${orgId}`, orgId, scopes, expiresAt: null },
    portal: { id, tokenSha256, serviceKeyId: key.id, userLabel, returnUrl, expiresAt },
  };
}
