import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { openCallbackClient, type CallbackClient, type CallbackOutcome } from '#libs/destinations';
import type { ControlEnvelope } from '#libs/domain';
import { StageKit } from '#libs/platform';
import { HealthBoard } from '#libs/runtime';

/** A message that is no event, and where it goes. */
export interface ControlMessage {
  readonly url: string;
  readonly subscriptionId: string;
  /** The value of `webhook-id`. */
  readonly id: string;
  readonly secrets: readonly string[];
  readonly envelope: ControlEnvelope;
}

/** Sends messages that are no events to callbacks. Opens its client when it is first needed. */
@Injectable()
export class CallbackClients implements BeforeApplicationShutdown {
  #client: CallbackClient | undefined;

  constructor(
    private readonly kit: StageKit,
    private readonly health: HealthBoard,
  ) {}

  send({ url, subscriptionId, id, secrets, envelope }: ControlMessage): Promise<CallbackOutcome> {
    return this.#opened().post(url, { subscriptionId, id, secrets, body: Buffer.from(JSON.stringify(envelope)) });
  }

  read(url: string): Promise<CallbackOutcome> {
    return this.#opened().get(url);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#client?.close();
  }

  #opened(): CallbackClient {
    const { config, clock, logger, metrics } = this.kit;
    return (this.#client ??= openCallbackClient({ config, clock, logger, metrics, health: this.health }));
  }
}
