interface Line {
  running: number;
  /** Each begins one that waits, the first come first. */
  readonly waiting: Set<() => void>;
}

/** Lets each name do only so much at a time. The rest waits for its turn, first come, first served. */
export class Turns<Name> {
  readonly #lines = new Map<Name, Line>();

  constructor(private readonly atATime: number) {}

  /** How many wait for a turn. */
  waiting(name: Name): number {
    return this.#lines.get(name)?.waiting.size ?? 0;
  }

  /**
   * Acts when its turn has come.
   * @param signal aborted when nobody wants the result: then it leaves the line, and this throws the reason. What has
   *   begun goes on
   */
  async of<Result>(name: Name, act: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    const line = this.#lines.get(name) ?? { running: 0, waiting: new Set() };
    this.#lines.set(name, line);
    if (line.running < this.atATime) line.running++;
    else await turnIn(line, signal);
    try {
      return await act();
    } finally {
      const [next] = line.waiting;
      if (next !== undefined) next();
      else if (--line.running === 0) this.#lines.delete(name);
    }
  }
}

function turnIn({ waiting }: Line, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      waiting.delete(begin);
      signal?.removeEventListener('abort', leave);
    };
    const begin = () => {
      end();
      resolve();
    };
    const leave = () => {
      end();
      reject(signal?.reason as Error);
    };
    waiting.add(begin);
    signal?.addEventListener('abort', leave, { once: true });
  });
}
