import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GaplessError, parseOrgId } from '#libs/domain';
import { IdempotencyRecords, LEASE_MS, type IdempotentRequest } from '#libs/postgres';
import { LOGGER } from '#libs/platform';
import type { Logger } from '#libs/runtime';
import { keyOf } from '../auth/authenticated-key.js';
import { idempotencyKeyOf } from './idempotency-key.js';

/** How long to wait before an outcome that could not be noted is noted again, milliseconds. */
const NOTE_AGAIN_MS = 500;

/**
 * More characters than the path of any operation has, percent-encoded or not. In a longer one, an id is none. Its request
 * is refused without a record: the index of the records has no room for such a path.
 */
const LONGEST_PATH = 512;

/** Gives requests with an `Idempotency-Key` their effect once (contract 5.3). */
@Injectable()
export class Idempotency {
  constructor(
    private readonly records: IdempotencyRecords,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Acts, unless the same request was answered before: then it returns that answer again, as JSON text. A request that is
   * refused at its first attempt is forgotten. Others can be tried again, with the same seed: an earlier attempt that
   * failed may have had its effect.
   * @param act gets a seed, the same for every attempt at the request; `null` without a key
   * @throws GaplessError `idempotency_conflict` for a key with another body, or while the first request is in progress
   */
  async once<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    act: (seed: string | null) => Promise<T>,
  ): Promise<T | string> {
    const key = idempotencyKeyOf(request);
    const path = request.url.split('?', 1)[0] ?? '';
    if (key === undefined || path.length > LONGEST_PATH) return act(null);
    const idempotent: IdempotentRequest = {
      apiKeyId: keyOf(request).id,
      path,
      key,
      fingerprint: createHash('sha256')
        .update(Buffer.isBuffer(request.body) ? request.body : '')
        .digest(),
      aboutOrgId: parseOrgId((request.params as { readonly orgId?: string } | undefined)?.orgId) ?? null,
    };
    const lease = randomUUID();
    const claim = await this.records.claim(idempotent, lease);
    switch (claim.kind) {
      case 'claimed':
        return this.#work(idempotent, { lease, isFirst: claim.seed === lease }, () => act(claim.seed));
      case 'answered':
        reply.header('content-type', 'application/json; charset=utf-8').header('idempotency-replayed', 'true');
        return claim.answer;
      case 'other_body':
        throw new GaplessError('idempotency_conflict', 'The Idempotency-Key was used with another body.');
      case 'in_progress':
        throw new GaplessError('idempotency_conflict', 'A request with this Idempotency-Key is still in progress.', {
          retryAfterSeconds: 1,
        });
    }
  }

  async #work<T>(
    request: IdempotentRequest,
    { lease, isFirst }: { readonly lease: string; readonly isFirst: boolean },
    act: () => Promise<T>,
  ): Promise<T> {
    let result: T;
    try {
      result = await act();
    } catch (error) {
      const hadNoEffect = isFirst && error instanceof GaplessError && error.code !== 'unavailable';
      await this.#note(() => (hadNoEffect ? this.records.forget(lease, request) : this.records.reopen(lease, request)));
      throw error;
    }
    // The effect has happened, so the caller gets the response even if it cannot be stored.
    await this.#note(() => this.records.answer(lease, request, JSON.stringify(result)));
    return result;
  }

  /** Notes the outcome of a request. If that fails, the caller does not wait until it can be noted. */
  async #note(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.logger.warn({ err: error }, 'idempotency.not_noted');
      void this.#noteLater(write);
    }
  }

  /** Tries until the lease is over. Until it is noted, a repeat of the request is refused, as if it were in progress. */
  async #noteLater(write: () => Promise<void>): Promise<void> {
    const endMs = performance.now() + LEASE_MS;
    for (let isNoted = false; !isNoted && performance.now() < endMs;) {
      await delay(NOTE_AGAIN_MS, undefined, { ref: false });
      isNoted = await write().then(
        () => true,
        () => false,
      );
    }
  }
}
