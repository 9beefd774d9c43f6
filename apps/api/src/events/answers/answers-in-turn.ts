import { Inject, Injectable } from '@nestjs/common';
import { GaplessError, type AskedEvent, type Clock, type EndpointId, type OrgId } from '#libs/domain';
import { CLOCK } from '#libs/platform';
import { EventAnswers, type EventAnswer } from '#libs/postgres';
import { Turns } from '../turns.js';

/** How many requests of an org may wait for their turn. */
const MAX_WAITING = 500;
const RETRY_AFTER_SECONDS = 1;

/** What became of an event. */
export interface AnsweredEvent {
  readonly event: AskedEvent;
  readonly answers: readonly EventAnswer[];
}

/** Says what became of events. Those of an org take turns: an answer may test the filters of a thousand endpoints. */
@Injectable()
export class AnswersInTurn {
  readonly #turns = new Turns<OrgId>(1);

  constructor(
    private readonly answers: EventAnswers,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Returns the event with what `EventAnswers.of` returns; `undefined` to a request that has left.
   * @param find finds the event once its turn has come, so that requests that wait hold no event
   * @param signal aborted when the request has left
   * @throws GaplessError `rate_limited` when too many requests of the org wait
   */
  async of(
    orgId: OrgId,
    find: () => Promise<AskedEvent>,
    signal: AbortSignal,
    endpointId?: EndpointId,
  ): Promise<AnsweredEvent | undefined> {
    if (this.#turns.waiting(orgId) >= MAX_WAITING) throw refused();
    try {
      const answer = async () => {
        const event = await find();
        return { event, answers: await this.answers.of(orgId, event, this.clock.now(), endpointId) };
      };
      return await this.#turns.of(orgId, answer, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }
}

function refused(): GaplessError {
  const detail = `${MAX_WAITING} requests of this organization wait for answers about events. Ask again a little later.`;
  return new GaplessError('rate_limited', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
