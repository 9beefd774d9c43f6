import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mutate, type Mutation } from './mutation.js';

/** A copy of the checkout as it is now, with what is not committed yet; what is broken here breaks nothing else. */
export class TreeCopy {
  private constructor(readonly path: string) {}

  /** @param path inside the checkout, so that what is installed there is found from the copy as well */
  static make(root: string, path: string): TreeCopy {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { recursive: true });
    const listing = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
    });
    for (const file of listing.toString().split('\0').filter(Boolean)) {
      // The list still has files that were removed without a commit.
      if (existsSync(join(root, file))) cpSync(join(root, file), join(path, file));
    }
    return new TreeCopy(path);
  }

  /** Breaks the file for as long as `act` takes. */
  async broken<T>(mutation: Mutation, act: () => Promise<T>): Promise<T> {
    const file = join(this.path, mutation.file);
    const source = readFileSync(file, 'utf8');
    writeFileSync(file, mutate(mutation, source));
    try {
      return await act();
    } finally {
      writeFileSync(file, source);
    }
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
