import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  callbackFailureOf,
  coversCallback,
  echoedChallenge,
  mcpError,
  type CallbackFailure,
  type Clock,
} from '#libs/domain';
import { CLOCK } from '#libs/platform';
import { protocolError } from '../refusal.js';
import { CallbackClients } from './callback-clients.js';

const CHALLENGE_BYTES = 32;
const WELL_KNOWN = '/.well-known/mcp-webhook-receiver.json';
/** The most verifications of one host in a minute: nobody can flood a host by varying the path. */
const PER_HOST = 20;
/** The most verifications at the same time, whatever their hosts. */
const AT_ONCE = 50;
const WINDOW_MS = 60_000;

export interface AskedCallback {
  readonly url: string;
  readonly subscriptionId: string;
  readonly secret: string;
}

/** Asks a receiver whether it wants deliveries, before any is made. */
@Injectable()
export class CallbackVerifier {
  readonly #begun = new Map<string, number[]>();
  #running = 0;

  constructor(
    private readonly callbacks: CallbackClients,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Resolves if the receiver echoes a challenge, or if its origin publishes that it takes deliveries at this url.
   * @throws ProtocolError `CallbackEndpointError`, `ResourceExhausted`
   */
  async verify(asked: AskedCallback): Promise<void> {
    this.#admit(new URL(asked.url).host);
    this.#running++;
    try {
      const failure = await this.#challenge(asked);
      if (failure === null || (await this.#isPublished(new URL(asked.url)))) return;
      throw protocolError(
        mcpError('CallbackEndpointError', `The callback could not be verified: ${failure}.`, { reason: failure }),
      );
    } finally {
      this.#running--;
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

  #admit(host: string): void {
    const sinceMs = this.clock.now() - WINDOW_MS;
    for (const [name, times] of this.#begun) if ((times.at(-1) ?? 0) <= sinceMs) this.#begun.delete(name);
    const recent = (this.#begun.get(host) ?? []).filter((atMs) => atMs > sinceMs);
    if (recent.length >= PER_HOST || this.#running >= AT_ONCE) {
      const data = { limit: 'verifications', max: PER_HOST, retryAfterMs: WINDOW_MS };
      throw protocolError(mcpError('ResourceExhausted', 'Too many callbacks are being verified.', data));
    }
    this.#begun.set(host, [...recent, this.clock.now()]);
  }
}

/** Compares in a time that does not depend on the texts. */
function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash('sha256').update(text).digest());
  return first !== undefined && second !== undefined && timingSafeEqual(first, second);
}
