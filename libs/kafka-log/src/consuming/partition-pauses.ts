/** Timers are 31-bit; a partition that is resumed early is paused again. */
const LONGEST_TIMER_MS = 2_147_483_647;

interface Pause {
  readonly topic: string;
  readonly partition: number;
  /** Ends the rest that the partition was given. */
  rest: NodeJS.Timeout | null;
  /** Whether more has been fetched of it than can be handled for now. */
  isFull: boolean;
  /** Whether it must not be read on, or it is not known yet. */
  isHeld: boolean;
}

/** Why partitions are not fetched for now: one goes on once there is no reason left. */
export class PartitionPauses {
  readonly #pauses = new Map<string, Pause>();

  constructor(
    private readonly fetching: {
      pause(topic: string, partition: number): void;
      resume(topic: string, partition: number): void;
    },
  ) {}

  /** Nothing of the partition is fetched for that long, or until `endRest`. */
  rest(topic: string, partition: number, waitMs: number): void {
    const pause = this.#pauseOf(topic, partition);
    if (pause.rest !== null) clearTimeout(pause.rest);
    pause.rest = setTimeout(
      () => {
        this.endRest(topic, partition);
      },
      Math.min(waitMs, LONGEST_TIMER_MS),
    );
  }

  endRest(topic: string, partition: number): void {
    const pause = this.#pauses.get(`${topic}/${partition}`);
    if (pause === undefined) return;
    if (pause.rest !== null) clearTimeout(pause.rest);
    pause.rest = null;
    this.#endWithoutReason(pause);
  }

  setFull(topic: string, partition: number, isFull: boolean): void {
    if (isFull) {
      this.#pauseOf(topic, partition).isFull = true;
      return;
    }
    const pause = this.#pauses.get(`${topic}/${partition}`);
    if (pause?.isFull !== true) return;
    pause.isFull = false;
    this.#endWithoutReason(pause);
  }

  hold(topic: string, partition: number, isHeld: boolean): void {
    if (isHeld) {
      this.#pauseOf(topic, partition).isHeld = true;
      return;
    }
    const pause = this.#pauses.get(`${topic}/${partition}`);
    if (pause?.isHeld !== true) return;
    pause.isHeld = false;
    this.#endWithoutReason(pause);
  }

  /** Every partition goes on. */
  endAll(): void {
    for (const [key, pause] of this.#pauses) {
      if (pause.rest !== null) clearTimeout(pause.rest);
      this.#pauses.delete(key);
      this.fetching.resume(pause.topic, pause.partition);
    }
  }

  /** Forgets all of them, and resumes nothing. */
  clear(): void {
    for (const { rest } of this.#pauses.values()) if (rest !== null) clearTimeout(rest);
    this.#pauses.clear();
  }

  #pauseOf(topic: string, partition: number): Pause {
    const key = `${topic}/${partition}`;
    const known = this.#pauses.get(key);
    if (known !== undefined) return known;
    const pause: Pause = { topic, partition, rest: null, isFull: false, isHeld: false };
    this.#pauses.set(key, pause);
    this.fetching.pause(topic, partition);
    return pause;
  }

  #endWithoutReason({ topic, partition, rest, isFull, isHeld }: Pause): void {
    if (rest !== null || isFull || isHeld) return;
    this.#pauses.delete(`${topic}/${partition}`);
    this.fetching.resume(topic, partition);
  }
}
