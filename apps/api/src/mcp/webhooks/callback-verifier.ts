import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  callbackFailureOf,
  coversCallback,
  echoedChallenge,
  mcpError,
  type CallbackFailure,
  type OrgId,
} from '#libs/domain';
import { protocolError } from '../refusal.js';
import { CallbackClients } from './callback-clients.js';
import { VerificationLimits, WINDOW_MS, type ReachedLimit } from './verification-limits.js';

const CHALLENGE_BYTES = 32;
const WELL_KNOWN = '/.well-known/mcp-webhook-receiver.json';
export interface AskedCallback {
  readonly orgId: OrgId;
  readonly url: string;
  readonly subscriptionId: string;
  readonly secret: string;
}

/** Asks a receiver whether it wants deliveries, before any is made. */
@Injectable()
export class CallbackVerifier {
  readonly #limits = new VerificationLimits();

  constructor(private readonly callbacks: CallbackClients) {}

  /**
   * Resolves if the receiver echoes a challenge, or if its origin publishes that it takes deliveries at this url.
   * @throws ProtocolError `CallbackEndpointError`, `ResourceExhausted`
   */
  async verify(asked: AskedCallback): Promise<void> {
    const end = this.#limits.begin(asked.orgId, asked.url, performance.now());
    if (typeof end !== 'function') throw tooMany(end);
    try {
      const failure = await this.#challenge(asked);
      if (failure === null || (await this.#isPublished(new URL(asked.url)))) return;
      throw protocolError(
        mcpError('CallbackEndpointError', `The callback could not be verified: ${failure}.`, { reason: failure }),
      );
    } finally {
      end();
    }
  }

  async #challenge({ url, subscriptionId, secret }: AskedCallback): Promise<CallbackFailure | null> {
    const challenge = randomBytes(CHALLENGE_BYTES).toString('base64url');
    const outcome = await this.callbacks.send({
      url,
      subscriptionId,
      id: `msg_verification_${randomBytes(16).toString('hex')}`,
      secrets: [secret],
      envelope: { type: 'verification', challenge },
    });
    if (outcome.kind === 'failed') return callbackFailureOf(outcome.error);
    return isSame(echoedChallenge(outcome.body) ?? '', challenge) ? null : 'challenge_failed';
  }

  async #isPublished(url: URL): Promise<boolean> {
    const document = await this.callbacks.read(new URL(WELL_KNOWN, url.origin).href);
    return document.kind === 'accepted' && coversCallback(document.body, url);
  }
}

function tooMany({ max }: ReachedLimit) {
  const data = { limit: 'verifications', max, retryAfterMs: WINDOW_MS };
  return protocolError(mcpError('ResourceExhausted', 'Too many callbacks are being verified.', data));
}

/** Compares in a time that does not depend on the texts. */
function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash('sha256').update(text).digest());
  return first !== undefined && second !== undefined && timingSafeEqual(first, second);
}
