import { CompressionTypes, type Message, type Producer } from 'kafkajs';

interface Waiting {
  readonly message: Message;
  readonly acknowledged: () => void;
  readonly failed: (error: unknown) => void;
}

/** Appends to one topic with `acks=all`; what comes while a request is on its way shares the next one. */
export class GatheringProducer {
  #waiting: Waiting[] = [];
  #isSending = false;

  constructor(
    private readonly producer: Producer,
    private readonly topic: string,
  ) {}

  /** Resolves once the brokers have the record. */
  append(message: Message): Promise<void> {
    return new Promise((acknowledged, failed) => {
      this.#waiting.push({ message, acknowledged, failed });
      if (!this.#isSending) void this.#sendAll();
    });
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      // Records that are appended in the same turn of the event loop share a request, too.
      await Promise.resolve();
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.producer.send({
          topic: this.topic,
          acks: -1,
          compression: CompressionTypes.None,
          messages: batch.map(({ message }) => message),
        });
        for (const { acknowledged } of batch) acknowledged();
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
    }
    this.#isSending = false;
  }
}
