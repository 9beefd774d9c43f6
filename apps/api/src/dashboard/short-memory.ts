import { Injectable } from '@nestjs/common';
import type { OrgId } from '#libs/domain';

/** Several open pages repeat the same questions. Their data may be this old. */
const REMEMBERED_MS = 2_000;

/** How long callers share a query that is running. Longer than a query may take. */
const SHARED_MS = 30_000;

/**
 * The most answers for one organization: enough for several pages at a time. An answer can be megabytes, and there are
 * thousands of windows to ask for.
 */
const MOST_OF_ORG = 32;

/** The most answers in all. */
const MOST = 1_000;

interface Remembered {
  readonly orgId: OrgId | null;
  readonly answer: Promise<unknown>;
  untilMs: number;
}

/**
 * Remembers answers for a short time, also while a clock is set back. Callers that ask while a query is running share it.
 */
@Injectable()
export class ShortMemory {
  /** The oldest first. */
  readonly #remembered = new Map<string, Remembered>();

  /** How many answers it holds. */
  get size(): number {
    return this.#remembered.size;
  }

  /**
   * @param orgId the organization that the answer is about; `null` if it is about all
   * @param question identifies the question, whose answers all have one type; failures are not remembered
   * @param rememberedMs how long, from the answer on
   */
  async ask<T>(
    orgId: OrgId | null,
    question: string,
    find: () => Promise<T>,
    rememberedMs = REMEMBERED_MS,
  ): Promise<T> {
    const name = `${orgId ?? ''} ${question}`;
    const nowMs = performance.now();
    const known = this.#remembered.get(name);
    if (known !== undefined && known.untilMs > nowMs) return known.answer as Promise<T>;
    this.#remembered.delete(name);
    this.#makeRoom(orgId, nowMs);
    const answer = find();
    const remembered: Remembered = { orgId, answer, untilMs: nowMs + SHARED_MS };
    this.#remembered.set(name, remembered);
    answer.then(
      () => {
        remembered.untilMs = performance.now() + rememberedMs;
      },
      () => {
        if (this.#remembered.get(name) === remembered) this.#remembered.delete(name);
      },
    );
    return answer;
  }

  /** Forgets what is too old, and the oldest answers if there are too many for one more. */
  #makeRoom(orgId: OrgId | null, nowMs: number): void {
    for (const [name, { untilMs }] of this.#remembered) if (untilMs <= nowMs) this.#remembered.delete(name);
    const ofOrg = [...this.#remembered].filter(([, remembered]) => remembered.orgId === orgId).map(([name]) => name);
    for (const name of ofOrg.slice(0, Math.max(0, ofOrg.length - MOST_OF_ORG + 1))) this.#remembered.delete(name);
    for (const name of [...this.#remembered.keys()].slice(0, Math.max(0, this.#remembered.size - MOST + 1))) {
      this.#remembered.delete(name);
    }
  }
}
