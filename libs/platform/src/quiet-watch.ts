/** Polling and heartbeats of all stages in one process take about half of it. */
const QUIET_CORES = 0.25;

/** Objects that live for a minute after their last use, such as connections, are gone by then. */
const LATER_LOOK = 7;

/** Says when a process that was busy holds memory that it does not need any more. */
export class QuietWatch {
  /** Since it was busy; 0 if it is. A process that has just started has given back what it can. */
  #quietLooks = LATER_LOOK;

  /** @returns whether it has just become quiet, or has been for a minute */
  look(cpuMs: number, elapsedMs: number): boolean {
    this.#quietLooks = cpuMs / elapsedMs > QUIET_CORES ? 0 : this.#quietLooks + 1;
    return this.#quietLooks === 1 || this.#quietLooks === LATER_LOOK;
  }
}
