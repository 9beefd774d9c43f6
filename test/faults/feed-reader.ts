import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../support/api-client.js';
import { StallWatch } from './stall-watch.js';

const POLL_MS = 250;

/** A client that reads an org's feed on and on, as customers do who are not pushed to. */
export class FeedReader {
  readonly stalls = new StallWatch();
  #since = 0;
  #isOver = false;
  #running: Promise<void> | null = null;

  /** @param client asked for each time, since the api may have moved */
  constructor(private readonly client: () => ApiClient) {}

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      // Away for the moment: the next look shows more.
      await this.#read().catch(() => undefined);
      await delay(POLL_MS);
    }
  }

  async #read(): Promise<void> {
    const text = await this.client().feedText(`since=${this.#since}&limit=1000`);
    const last = (JSON.parse(text) as { data: readonly { seq: number }[] }).data.at(-1);
    if (last === undefined) return;
    this.#since = last.seq;
    this.stalls.noticeNew();
  }
}
