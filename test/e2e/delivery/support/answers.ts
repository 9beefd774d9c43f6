import { eventually } from '../../../support/infrastructure/eventually.js';
import type { Received, Receiver } from '../../../support/receiver.js';
import { deliveryIdOf, envelopeOf, seqOf } from './pushes.js';

/** Answers every push with this status. */
export function always(status: number): Receiver['answer'] {
  return (_request, response) => response.writeHead(status).end();
}

/** Answers every push with 503. Endpoints with `respect_retry_after` get the next one so many seconds later. */
export function askingToWait(seconds: number): Receiver['answer'] {
  return (_request, response) => response.writeHead(503, { 'retry-after': String(seconds) }).end();
}

/**
 * Answers the pushes of a delivery with the statuses in its event, as `data: {answers: [500, 200]}`, one
 * after the other; the last one over and over. Without them, it does not answer.
 */
export function asTheEventSays(): Receiver['answer'] {
  const pushes = new Map<string, number>();
  return (_request, response, push) => {
    const { answers } = envelopeOf(push).data as { answers?: readonly number[] };
    if (answers === undefined) return;
    const before = pushes.get(deliveryIdOf(push)) ?? 0;
    pushes.set(deliveryIdOf(push), before + 1);
    response.writeHead(answers[Math.min(before, answers.length - 1)]!).end();
  };
}

/** A push that waits for its answer. */
export interface HeldPush {
  readonly push: Received;
  readonly answer: (status: number) => void;
}

/** Lets each push of a receiver wait until the test answers it. */
export class HeldPushes {
  readonly #held: HeldPush[] = [];
  #taken = 0;

  readonly answer: Receiver['answer'] = (_request, response, push) => {
    this.#held.push({ push, answer: (status) => response.writeHead(status).end() });
  };

  /** Returns the push after the one that was asked for last, as soon as it is there. */
  async next(): Promise<HeldPush> {
    const held = await eventually(
      () => {
        const next = this.#held[this.#taken];
        if (next === undefined) throw new Error(`no push came after the first ${this.#taken}`);
        return next;
      },
      { intervalMs: 5 },
    );
    this.#taken++;
    return held;
  }

  /** Returns the next push of the event. Those of other events before it get no answer. */
  async nextOf(seq: number): Promise<HeldPush> {
    for (;;) {
      const held = await this.next();
      if (seqOf(held.push) === seq) return held;
    }
  }
}
