/**
 * The most CPU cores that a quiet process uses. Polling and heartbeats of all stages in one process take about half of
 * it.
 */
const QUIET_CORES = 0.25;

/** A pause of a few minutes is part of a load, and what V8 has compiled for it is worth its memory. */
const QUIET_MS = 300_000;

/** Says when a process that was busy holds memory that it no longer needs. */
export class QuietWatch {
  /** For how long the process has been quiet since it was busy; `null` once that was said. */
  #quietMs: number | null = null;

  /** @returns whether the process was busy, and has now been quiet for five minutes */
  look(cpuMs: number, elapsedMs: number): boolean {
    if (cpuMs / elapsedMs > QUIET_CORES) this.#quietMs = 0;
    else if (this.#quietMs !== null) this.#quietMs += elapsedMs;
    if (this.#quietMs === null || this.#quietMs < QUIET_MS) return false;
    this.#quietMs = null;
    return true;
  }
}
