import { safely } from '../../../api-client/src/index.js';
import type { GaplessEvent } from '../../../event-types/src/index.js';
import { verifySignature, type SignatureProblem } from '../../../webhook-signature/src/index.js';
import { PendingPushes } from './pending-pushes.js';
import { readEvents, type PushedEvents } from './read-event.js';

/** @throws TypeError when a secret is missing or empty, or has white space, such as the line break at the end of a file */
function checkSecrets(secrets: unknown): void {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  if (list.length > 0 && list.every((secret) => typeof secret === 'string' && /^\S+$/.test(secret))) return;
  throw new TypeError('secret is missing, empty or has white space: pass the signing secret of the endpoint (whsec_…)');
}

/** Four times the size of the largest event. */
const DEFAULT_MAX_BODY_BYTES = 1024 * 1024;

/** The secret, or both secrets while one replaces the other. */
export type Secrets = string | readonly string[];

/** A push whose signature was verified. */
export interface Push {
  /** The bytes that were signed. All events of a batch have the same. */
  readonly body: Buffer;
  /** The delivery's id, the same for each attempt; of a batch, that of its first event. */
  readonly deliveryId: string | undefined;
  /** The number of the attempt; 1 for the first. */
  readonly attempt: number;
  /**
   * The `seq` of the event before this one that was for the endpoint, 0 if there is none. It is missing if the endpoint
   * does not ask for `previous_sequence`, and if it is not known. `PushGaps` finds gaps with it.
   */
  readonly previousSequence?: number;
}

export type RefusalReason =
  | SignatureProblem
  /** The body is longer than `maxBodyBytes`. */
  | 'too_large'
  /** The signature is valid, but the body is neither an event nor a batch. */
  | 'not_an_event'
  /** The `secret` function failed, or returned an empty secret. */
  | 'no_secret'
  /**
   * Too many accepted pushes were not handled for 5 s, or too many wait for room already. Gapless counts a failed
   * attempt, and retries the push.
   */
  | 'busy';

export interface WebhookOptions {
  /** The secret that signs pushes, or a function that returns it for each push. */
  readonly secret: Secrets | (() => Secrets | Promise<Secrets>);
  /**
   * Handles the event. It runs after the answer to the push, so an error goes to `onError` and cannot refuse the push. The
   * events of a batch are handled one after the other, and so are batches.
   */
  readonly handle: (event: GaplessEvent, push: Push) => void | Promise<void>;
  /**
   * Whether single events are handled one after the other, too; false by default. Set it for an endpoint with `ordering`
   * and no `batch`: its next push comes once the one before is answered, which can be before that is handled.
   */
  readonly inOrder?: boolean;
  /** Called when `handle` throws. The push is already accepted, so get the event from the feed. */
  readonly onError: (error: unknown, event: GaplessEvent) => void;
  /**
   * Called with the reason when a push is refused. It gets no part of the push, because a refused push cannot be
   * trusted.
   */
  readonly onRefused?: (reason: RefusalReason, error?: unknown) => void;
  /** The longest body to accept, bytes; 1 MiB by default. */
  readonly maxBodyBytes?: number;
  /**
   * How many accepted pushes may wait or be handled at a time; 1,000 by default. At least 1,000 further ones, or 64 MiB,
   * wait for their answer, so that Gapless sends more slowly. After 5 s they get 503, and those beyond that get it at once.
   * Gapless retries them. Each 503 is a failed attempt, and 20 in a row disable the endpoint.
   */
  readonly maxPending?: number;
  /** As `maxPending`, for the sum of the bodies, bytes; 64 MiB by default. */
  readonly maxPendingBytes?: number;
  /** How old a signature may be, seconds; 300 by default. */
  readonly toleranceSeconds?: number;
}

/** A push as an adapter passes it on. */
export interface IncomingPush {
  /** The raw body; `too_large` if it was longer than `maxBodyBytes`. */
  readonly body: Buffer | 'too_large';
  /** Returns a header by its lower-case name. */
  readonly header: (name: string) => string | readonly string[] | null | undefined;
}

/** The response, and for an accepted push the work to start after sending it. */
export type Reception =
  | { readonly kind: 'taken'; readonly status: 204; readonly begin: () => Promise<void> }
  | { readonly kind: 'refused'; readonly status: 400 | 401 | 413 | 503; readonly reason: RefusalReason };

function statusOf(reason: RefusalReason): 400 | 401 | 413 | 503 {
  switch (reason) {
    case 'too_large':
      return 413;
    case 'not_an_event':
      return 400;
    case 'no_secret':
    case 'busy':
      return 503;
    case 'missing':
    case 'malformed':
    case 'expired':
    case 'mismatch':
      return 401;
  }
}

function previousIn(value: ReturnType<IncomingPush['header']>): Pick<Push, 'previousSequence'> {
  const text = value?.toString() ?? '';
  return /^\d{1,15}$/.test(text) ? { previousSequence: Number(text) } : {};
}

/**
 * Receives pushes (contract 5.3, 4.4). It verifies the raw body before parsing it. An invalid signature gets 401;
 * otherwise the answer is 2xx, and the work begins after it. While too much work is left, the answer waits, and is 503
 * after 5 s, or at once if too many wait. Adapters connect it to frameworks.
 */
export class Webhook {
  readonly maxBodyBytes: number;
  readonly #options: WebhookOptions;
  readonly #pending: PendingPushes;
  /** Settles once all pushes so far that are handled in order are done. */
  #ordered: Promise<void> = Promise.resolve();
  readonly #onError: (error: unknown, event: GaplessEvent) => void;
  readonly #onRefused: (reason: RefusalReason, error?: unknown) => void;

  /** @throws TypeError when there is no secret, or an empty one: everyone can sign with an empty secret */
  constructor(options: WebhookOptions) {
    this.#options = options;
    if (typeof options.secret !== 'function') checkSecrets(options.secret);
    this.#pending = new PendingPushes(options);
    this.#onError = safely('onError', options.onError);
    this.#onRefused = safely('onRefused', options.onRefused);
    this.maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
  }

  /** Never rejects. */
  async receive({ body, header }: IncomingPush): Promise<Reception> {
    if (body === 'too_large' || body.length > this.maxBodyBytes) return this.#refuse('too_large');
    let secret: Secrets;
    try {
      secret = await this.#secret();
    } catch (error) {
      return this.#refuse('no_secret', error);
    }
    const { toleranceSeconds } = this.#options;
    const verdict = verifySignature({ body, header: header('x-service-signature'), secret, toleranceSeconds });
    if (!verdict.valid) return this.#refuse(verdict.reason);
    // A verified push alone may wait: everyone can send others.
    if (!(await this.#pending.room(body.length))) return this.#refuse('busy');
    const pushed = readEvents(body);
    if (pushed === undefined) return this.#refuse('not_an_event');
    const push: Push = {
      body,
      deliveryId: header('x-service-delivery-id')?.toString(),
      attempt: Number(header('x-service-attempt') ?? 1),
      ...previousIn(header('x-service-previous-sequence')),
    };
    return { kind: 'taken', status: 204, begin: () => this.#begin(pushed, push) };
  }

  /**
   * Resolves once all started work is done. Pushes that wait for room are accepted at once. To shut down, stop the
   * server first, then wait for this.
   */
  idle(): Promise<void> {
    return this.#pending.idle();
  }

  async #secret(): Promise<Secrets> {
    const { secret } = this.#options;
    if (typeof secret !== 'function') return secret;
    const secrets = await secret();
    checkSecrets(secrets);
    return secrets;
  }

  #refuse(reason: RefusalReason, error?: unknown): Reception {
    this.#onRefused(reason, error);
    return { kind: 'refused', status: statusOf(reason), reason };
  }

  #begin({ events, isBatch }: PushedEvents, push: Push): Promise<void> {
    const isOrdered = isBatch || this.#options.inOrder === true;
    const before = isOrdered ? this.#ordered : undefined;
    const work = this.#workOn(events, push, before);
    if (isOrdered) this.#ordered = work;
    this.#pending.add(work, push.body.length);
    return work;
  }

  async #workOn(events: readonly GaplessEvent[], push: Push, before: Promise<void> | undefined): Promise<void> {
    if (before !== undefined) await before;
    let previous = push.previousSequence;
    for (const event of events) {
      await this.#work(event, previous === undefined ? push : { ...push, previousSequence: previous });
      // The events of a batch follow each other.
      if (previous !== undefined) previous = event.seq;
    }
  }

  async #work(event: GaplessEvent, push: Push): Promise<void> {
    try {
      await this.#options.handle(event, push);
    } catch (error) {
      this.#onError(error, event);
    }
  }
}
