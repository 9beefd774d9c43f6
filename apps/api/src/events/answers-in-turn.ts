import { Inject, Injectable } from '@nestjs/common';
import type { AskedEvent, Clock, EndpointId, OrgId } from '#libs/domain';
import { CLOCK } from '#libs/platform';
import { EventAnswers, type EventAnswer } from '#libs/postgres';
import { Turns } from './turns.js';

/** Says what became of events. Those of an org take turns: an answer may test the filters of a thousand endpoints. */
@Injectable()
export class AnswersInTurn {
  readonly #turns = new Turns<OrgId>(1);

  constructor(
    private readonly answers: EventAnswers,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Returns what `EventAnswers.of` returns; no answers to a request that has left.
   * @param signal aborted when the request has left
   */
  async of(
    orgId: OrgId,
    event: AskedEvent,
    signal: AbortSignal,
    endpointId?: EndpointId,
  ): Promise<readonly EventAnswer[]> {
    try {
      const answer = () => this.answers.of(orgId, event, this.clock.now(), endpointId);
      return await this.#turns.of(orgId, answer, signal);
    } catch (error) {
      if (signal.aborted) return [];
      throw error;
    }
  }
}
