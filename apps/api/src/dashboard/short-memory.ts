import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { CLOCK } from '#libs/platform';

/** Several open pages repeat the same questions. Their data may be this old. */
const REMEMBERED_MS = 2_000;

interface Remembered {
  readonly untilMs: number;
  readonly answer: Promise<unknown>;
}

/** Remembers answers for a short time. Callers that ask while a query is running share it. */
@Injectable()
export class ShortMemory {
  readonly #remembered = new Map<string, Remembered>();

  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  /** @param name identifies the question, whose answers all have one type; failures are not remembered */
  async ask<T>(name: string, find: () => Promise<T>, rememberedMs = REMEMBERED_MS): Promise<T> {
    const nowMs = this.clock.now();
    const known = this.#remembered.get(name);
    if (known !== undefined && known.untilMs > nowMs) return known.answer as Promise<T>;
    this.#forgetOld(nowMs);
    const answer = find();
    this.#remembered.set(name, { untilMs: nowMs + rememberedMs, answer });
    answer.catch(() => {
      if (this.#remembered.get(name)?.answer === answer) this.#remembered.delete(name);
    });
    return answer;
  }

  #forgetOld(nowMs: number): void {
    for (const [name, { untilMs }] of this.#remembered) if (untilMs <= nowMs) this.#remembered.delete(name);
  }
}
