import type { AuditActor } from '#libs/postgres';
import type { OrgId } from '#libs/domain';
import type { AuthenticatedKey } from '../auth/authenticated-key.js';
import { VerbatimJson } from './verbatim-json.js';

/** One HTTP request of an agent and its response. */
export class Exchange {
  readonly verbatim = new VerbatimJson();
  #framesAhead = 0;
  #wake: (() => void) | null = null;
  #end: (() => void) | null = null;
  /** Resolves once the response is printed, to the last message of a stream, or nobody waits for it. */
  readonly ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  constructor(
    readonly orgId: OrgId,
    readonly key: AuthenticatedKey,
    readonly actor: AuditActor,
    /** Whether the key may still be used. */
    readonly isInForce: () => Promise<boolean>,
    /** Aborted when the response ends. */
    readonly signal: AbortSignal,
  ) {
    const stop = () => {
      this.#wake?.();
      this.end();
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  }

  end(): void {
    this.#end?.();
  }

  /**
   * Sends one message of a stream, and waits until the client has room for more. The SDK itself would keep every message
   * in memory until a slow client reads it.
   */
  async send(notify: () => Promise<void>): Promise<void> {
    this.#framesAhead++;
    await notify();
    if (this.#framesAhead > 0 && !this.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Yields the messages of a stream as the SDK prints them, one at a time. */
  async *frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
    const reader = body.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        yield Buffer.from(this.verbatim.restore(Buffer.from(value).toString()));
        this.#framesAhead--;
        if (this.#framesAhead <= 0) this.#wake?.();
      }
    } finally {
      this.end();
      await reader.cancel().catch(() => undefined);
    }
  }
}
