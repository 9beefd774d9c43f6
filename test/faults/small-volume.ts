import { execFileSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CHUNK = Buffer.alloc(1024 * 1024);

/** Where the data of a server is, below the directory of the run. */
const VOLUME_DIRECTORIES = { postgres: 'postgres', kafka: 'kafka-1/kafka/records' };

/** Why no volume can be mounted here; `undefined` if one can. */
export function obstacleToVolumes(): string | undefined {
  if (process.platform !== 'linux') return 'a volume of its own is mounted on Linux only';
  if (process.getuid?.() !== 0) return 'mounting a volume takes root';
  return obstacleToMounting();
}

/** A sandbox may forbid it to root, too. */
function obstacleToMounting(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'gapless-volume-'));
  try {
    SmallVolume.mount(directory, 1).unmount();
    return undefined;
  } catch {
    return 'this sandbox forbids mounting a volume';
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function isMounted(directory: string): boolean {
  // Blanks of a path stand there as \040.
  const path = directory.replaceAll(' ', '\\040');
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .some((line) => line.split(' ')[1] === path);
}

function unmount(directory: string): void {
  if (process.platform === 'linux' && isMounted(directory)) execFileSync('umount', ['-l', directory]);
}

/** Takes off the volumes that a run left on the directories of its servers. */
export function unmountVolumes(dataDir: string): void {
  for (const directory of Object.values(VOLUME_DIRECTORIES)) unmount(join(dataDir, directory));
}

/** A small volume in memory that can be filled up. */
export class SmallVolume {
  readonly #filler: string;

  private constructor(private readonly directory: string) {
    this.#filler = join(directory, 'filler');
  }

  /** For the data of a server, which is not started yet. @throws when the sandbox forbids it */
  static of(server: keyof typeof VOLUME_DIRECTORIES, dataDir: string, mebibytes: number): SmallVolume {
    return SmallVolume.mount(join(dataDir, VOLUME_DIRECTORIES[server]), mebibytes);
  }

  /** @throws when the sandbox forbids it */
  static mount(directory: string, mebibytes: number): SmallVolume {
    mkdirSync(directory, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=755`, 'tmpfs', directory], { stdio: 'pipe' });
    return new SmallVolume(directory);
  }

  /** Takes all that is free, down to the last page. */
  fill(): void {
    const file = openSync(this.#filler, 'a');
    try {
      for (let size = CHUNK.length; size >= 4096;) {
        try {
          writeSync(file, CHUNK, 0, size);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          size /= 2;
        }
      }
    } finally {
      closeSync(file);
    }
  }

  /** Gives back what `fill` took. */
  free(): void {
    const file = openSync(this.#filler, 'r+');
    ftruncateSync(file, 0);
    closeSync(file);
    rmSync(this.#filler);
  }

  unmount(): void {
    unmount(this.directory);
  }
}
