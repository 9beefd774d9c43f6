/** Wakes a waiting loop. */
export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /**
   * Resolves when the bell rings, or has rung since the last wait; on the abort, or after `timeoutMs` at the latest.
   */
  async wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted) await this.#next(timeoutMs, signal);
    this.#rung = false;
  }

  #next(timeoutMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(wake, timeoutMs);
      signal.addEventListener('abort', wake);
      this.#wake = wake;
    });
  }
}
