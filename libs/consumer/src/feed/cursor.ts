/** Stores a reader's position: every event up to this seq is handled. */
export interface Cursor {
  /** `undefined` before the first `save`. */
  load(): Promise<number | undefined>;
  save(seq: number): Promise<void>;
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
