import { Inject, Injectable } from '@nestjs/common';
import {
  callbackFailureOf,
  EventCursors,
  grantUntil,
  isSigningSecret,
  mcpError,
  readEventArguments,
  replayStart,
  subscriptionIdOf,
  WEBHOOK_EVENT_NAMES,
  type Clock,
} from '#libs/domain';
import { CLOCK, CONFIG } from '#libs/platform';
import { McpSubscriptions, type Subscribed } from '#libs/postgres';
import { Identifiers, type Config } from '#libs/runtime';
import { RateLimits } from '../../rate-limits/rate-limits.js';
import { EndpointUrlCheck } from '../../webhooks/endpoint-url-check.js';
import type { Exchange } from '../exchange.js';
import { protocolError } from '../refusal.js';
import { Subscriptions, type SubscriptionParams } from '../subscription.js';
import { CallbackVerifier } from './callback-verifier.js';

/** How long the secret before the current one signs, too. */
const OVERLAP_MS = 10 * 60_000;

export interface SubscribeParams extends SubscriptionParams {
  readonly delivery: { readonly mode?: string | undefined; readonly url: string; readonly secret: string };
  /** The suggested lifetime; `null` for no expiry. */
  readonly ttlMs?: number | null | undefined;
}

export interface UnsubscribeParams extends Pick<SubscriptionParams, 'name' | 'arguments'> {
  readonly delivery: { readonly url: string };
}

/** `events/subscribe` and `events/unsubscribe`: webhooks that an agent registers itself. */
@Injectable()
export class SubscribeWebhooks {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly records: McpSubscriptions,
    private readonly urls: EndpointUrlCheck,
    private readonly verifier: CallbackVerifier,
    private readonly cursors: EventCursors,
    private readonly identifiers: Identifiers,
    private readonly limits: RateLimits,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws ProtocolError, GaplessError `url_*`, `unavailable`, `rate_limited` */
  async subscribe({ orgId, key, actor }: Exchange, params: SubscribeParams) {
    const { name, arguments: given = {}, delivery } = params;
    const { url, secret } = delivery;
    refuseUnlessValid(delivery);
    const asked = await this.subscriptions.begin(orgId, params);
    if (!WEBHOOK_EVENT_NAMES.includes(name)) {
      throw unsupported('webhook', `${name} has no webhooks. Poll or stream its events.`);
    }
    const start = replayStart(asked, asked.headSeq);
    await this.urls.check(url);
    const id = subscriptionIdOf({ principal: key.id, url, name, arguments: given });
    await this.#refuseAtLimit(orgId, id);
    if (!(await this.records.isVerified(orgId, key.id, url))) {
      await this.verifier.verify({ orgId, url, subscriptionId: id, secret });
      await this.records.verified(orgId, key.id, url, new Date(this.clock.now()));
    }
    const atMs = this.clock.now();
    const subscribed = await this.records.by(actor).subscribe(
      {
        id,
        orgId,
        endpointId: this.identifiers.endpointId(),
        keyId: key.id,
        url,
        name,
        arguments: given,
        widgetId: asked.query.widgetId ?? null,
        filter: asked.filter,
        secret,
        grantedUntil: grantUntil(params.ttlMs, atMs),
        since: start.since,
        at: new Date(atMs),
        overlapsUntil: new Date(atMs + OVERLAP_MS),
        keptSince: new Date(atMs - this.config.retentionMs),
      },
      this.config.maxMcpSubscriptionsPerOrg,
      // An agent that subscribes and unsubscribes again and again would fill the audit log and the list of deleted endpoints.
      () => this.limits.count('changes', orgId, 1, null),
    );
    if (subscribed.kind === 'limit_reached') throw this.#limitReached();
    const { subscription } = subscribed;
    return {
      id,
      refreshBefore: subscription.grantedUntil?.toISOString() ?? null,
      cursor: this.cursors.at(orgId, subscription.watermarkSeq),
      truncated: subscribed.kind === 'created' ? start.isTruncated : subscribed.isTruncated,
      ...(subscribed.kind === 'created' ? {} : { deliveryStatus: deliveryStatus(subscribed) }),
    };
  }

  /** @throws ProtocolError `NotFound` */
  async unsubscribe({ orgId, key, actor }: Exchange, params: UnsubscribeParams) {
    const { name, arguments: given = {}, delivery } = params;
    // Arguments that no subscription can have are not looked up: they may be of any size and depth.
    const isPossible = readEventArguments(name, given).kind === 'valid';
    const id = isPossible ? subscriptionIdOf({ principal: key.id, url: delivery.url, name, arguments: given }) : null;
    if (id !== null && (await this.records.by(actor).unsubscribe(orgId, id, new Date(this.clock.now())))) return {};
    throw protocolError(mcpError('NotFound', 'There is no such subscription.', { kind: 'subscription' }));
  }

  /** A client at its limit must not make the server ask receivers. */
  async #refuseAtLimit(orgId: Exchange['orgId'], id: string): Promise<void> {
    if ((await this.records.count(orgId)) < this.config.maxMcpSubscriptionsPerOrg) return;
    if (!(await this.records.isLive(orgId, id, new Date(this.clock.now())))) throw this.#limitReached();
  }

  #limitReached() {
    const max = this.config.maxMcpSubscriptionsPerOrg;
    const detail = `The organization has ${max} subscriptions already.`;
    return protocolError(mcpError('ResourceExhausted', detail, { limit: 'subscriptions', max }));
  }
}

function refuseUnlessValid({ mode = 'webhook', secret }: SubscribeParams['delivery']): void {
  if (mode !== 'webhook') throw unsupported(mode, 'Only webhooks are subscribed to.');
  if (isSigningSecret(secret)) return;
  const detail = 'delivery.secret must be whsec_ followed by the base64 of 24 to 64 random bytes.';
  throw protocolError(mcpError('InvalidParams', detail));
}

function unsupported(mode: string, detail: string) {
  return protocolError(mcpError('Unsupported', detail, { feature: 'deliveryMode', value: mode }));
}

/** Says how deliveries go, by categories alone: what a receiver answers is none of the subscriber's business. */
function deliveryStatus({ subscription, wasSuspended }: Subscribed & { readonly kind: 'refreshed' }) {
  const { lastSuccessAt, lastError, failedSince } = subscription;
  return {
    active: !wasSuspended,
    lastDeliveryAt: lastSuccessAt?.toISOString() ?? null,
    lastError: lastError === null ? null : callbackFailureOf(lastError),
    ...(failedSince === null ? {} : { failedSince: failedSince.toISOString() }),
  };
}
