interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

/** Lets each name do only so much at a time. The rest waits for its turn, first come, first served. */
export class Turns<Name> {
  readonly #lines = new Map<Name, Line>();

  constructor(private readonly atATime: number) {}

  async of<Result>(name: Name, act: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(name) ?? { running: 0, waiting: [] };
    this.#lines.set(name, line);
    if (line.running < this.atATime) line.running++;
    else
      await new Promise<void>((resolve) => {
        line.waiting.push(resolve);
      });
    try {
      return await act();
    } finally {
      const next = line.waiting.shift();
      if (next !== undefined) next();
      else if (--line.running === 0) this.#lines.delete(name);
    }
  }
}
