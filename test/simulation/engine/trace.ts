import { createHash } from 'node:crypto';
import type { VirtualTime } from './virtual-time.js';

/** What happened in a history, line by line; nothing is written unless somebody reads it. */
export class Trace {
  readonly #hash = createHash('sha256');

  /** @param read is handed each line; `null` while nobody reads */
  constructor(
    private readonly time: VirtualTime,
    private readonly read: ((line: string) => void) | null,
  ) {}

  get isOn(): boolean {
    return this.read !== null;
  }

  /** @param who it happened to; the current actor unless given */
  note(what: string, who = this.time.current.name): void {
    if (this.read === null) return;
    const line = `${(this.time.nowMs / 1_000).toFixed(4).padStart(9)}  ${who.padEnd(12)}  ${what}`;
    this.#hash.update(line).update('\n');
    this.read(line);
  }

  /** Names the history: the same lines, the same digest. */
  digest(): string {
    return this.#hash.digest('hex').slice(0, 16);
  }
}
