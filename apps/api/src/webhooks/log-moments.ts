import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { GaplessError, type OrgId } from '#libs/domain';
import { KafkaConnection, OrgLogEnds, type TopicNames } from '#libs/kafka-log';
import { CONFIG, TOPICS } from '#libs/platform';
import type { Config } from '#libs/runtime';

/** The longest that brokers may take to answer. */
const PATIENCE_MS = 5_000;

/** Finds the end of the log, where an endpoint starts or stops receiving after an operator's request. */
@Injectable()
export class LogMoments {
  readonly #ends: OrgLogEnds;

  constructor(connection: KafkaConnection, @Inject(TOPICS) topics: TopicNames, @Inject(CONFIG) config: Config) {
    this.#ends = new OrgLogEnds(connection, topics.log, config.partitions);
  }

  /** @throws GaplessError `unavailable` when the brokers do not answer; the request can be repeated */
  async endOf(orgId: OrgId, patienceMs = PATIENCE_MS): Promise<number> {
    const patience = new AbortController();
    try {
      const ends = await Promise.race([this.#ends.of([orgId]), this.#refuse(patienceMs, patience.signal)]);
      const end = ends.get(orgId);
      if (end === undefined) throw cannotBeReached(undefined);
      return end;
    } catch (cause) {
      if (cause instanceof GaplessError) throw cause;
      throw cannotBeReached(cause);
    } finally {
      patience.abort();
    }
  }

  async #refuse(patienceMs: number, signal: AbortSignal): Promise<never> {
    await delay(patienceMs, undefined, { signal });
    throw cannotBeReached(undefined);
  }
}

function cannotBeReached(cause: unknown): GaplessError {
  const detail = 'The log cannot be reached, so it is not known which events are for the endpoint; repeat the request.';
  return new GaplessError('unavailable', detail, { cause });
}
