/**
 * The most CPU cores that a quiet process uses. Polling and heartbeats of all stages in one process take about half of
 * it.
 */
const QUIET_CORES = 0.25;

/** By this look, objects that live for a minute after their last use, such as connections, are gone. */
const LATER_LOOK = 7;

/** Says when a process that was busy holds memory that it no longer needs. */
export class QuietWatch {
  /** Looks since the process was busy; 0 while it is. A new process counts as already collected. */
  #quietLooks = LATER_LOOK;

  /** @returns whether the process has just become quiet, or has been quiet for a minute */
  look(cpuMs: number, elapsedMs: number): boolean {
    this.#quietLooks = cpuMs / elapsedMs > QUIET_CORES ? 0 : this.#quietLooks + 1;
    return this.#quietLooks === 1 || this.#quietLooks === LATER_LOOK;
  }
}
