/** The longest wait of a timer, milliseconds. A partition that resumes too early is paused again. */
const LONGEST_TIMER_MS = 2_147_483_647;

interface Pause {
  readonly topic: string;
  readonly partition: number;
  /** The timer that ends the partition's rest. */
  rest: NodeJS.Timeout | null;
  /** Whether enough records were fetched for now. */
  isFull: boolean;
  /** Whether the partition must not be read, or that is being checked. */
  isHeld: boolean;
}

/** Pauses partitions for several reasons. A partition is fetched again once no reason is left. */
export class PartitionPauses {
  readonly #pauses = new Map<string, Pause>();

  constructor(
    private readonly fetching: {
      pause(topic: string, partition: number): void;
      resume(topic: string, partition: number): void;
    },
  ) {}

  /** Pauses the partition for that long, or until `endRest`. */
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

  /** Ends all pauses, and resumes all partitions. */
  endAll(): void {
    for (const [key, pause] of this.#pauses) {
      if (pause.rest !== null) clearTimeout(pause.rest);
      this.#pauses.delete(key);
      this.fetching.resume(pause.topic, pause.partition);
    }
  }

  /** Forgets all pauses without resuming partitions. */
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
