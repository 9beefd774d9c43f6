import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

/** The record files of a broker. They are copied and put back while it does not run. */
export class BrokerFiles {
  readonly #files: string;
  readonly #copy: string;

  /** @param home the directory that holds the broker's records */
  constructor(home: string) {
    this.#files = join(home, 'records');
    this.#copy = join(home, 'records-copy');
  }

  /** Copies all of them. */
  copy(): void {
    rmSync(this.#copy, { recursive: true, force: true });
    execFileSync('cp', ['-a', this.#files, this.#copy]);
  }

  /** Puts the files of one partition, such as `gapless.log.v1-0`, back to what they were at the copy; all if none is named. */
  putBack(partition = ''): void {
    rmSync(join(this.#files, partition), { recursive: true, force: true });
    execFileSync('cp', ['-a', join(this.#copy, partition), join(this.#files, partition)]);
  }
}
