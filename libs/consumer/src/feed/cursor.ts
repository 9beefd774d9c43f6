/** How a store that is reached over the network may be called. Other stores ignore it. */
export interface CursorRequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** How often to retry while the store is unavailable; without limit by default. */
  readonly retries?: number;
}

/** Stores a reader's position: every event up to this seq is handled. */
export interface Cursor {
  /** `undefined` before the first `save`. */
  load(options?: CursorRequestOptions): Promise<number | undefined>;
  save(seq: number, options?: CursorRequestOptions): Promise<void>;
}

/** A cursor in memory, which is lost when the process ends. */
export class MemoryCursor implements Cursor {
  #seq: number | undefined;

  load(): Promise<number | undefined> {
    return Promise.resolve(this.#seq);
  }

  save(seq: number): Promise<void> {
    this.#seq = seq;
    return Promise.resolve();
  }
}
