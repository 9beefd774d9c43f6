import { writeSync as writeToFile } from 'node:fs';
import { pino, type DestinationStream } from 'pino';

const LINES_LOST = 'log.lines_lost';
/** The name under which pino looks whether a destination wants the level of each line. */
const METADATA = Symbol.for('pino.metadata');
/** Lines of at most this level may wait. There are many, and nobody has to act on one. */
const WAITING_LEVEL = pino.levels.values['info'] ?? 0;
/** How long a line waits for others, milliseconds. */
const WAIT_MS = 100;
/** Characters that wait at most, unless they cannot be written. */
const WAITING = 8 * 1024;
/** Bytes of one write. A pipe takes as many of them as a whole, so that lines of two threads do not mix. */
const PIECE = 4 * 1024;
/** Characters that are kept while they cannot be written. */
const KEPT = 1024 * 1024;
/** When lines that could not be written are tried again, milliseconds. */
const RETRY_MS = 500;
/** The same for a reader that has just taken a part of them. */
const NEXT_PART_MS = 20;
/** How often, and at which interval, lines are tried again when the process ends. */
const LAST_TRIES = 100;
const LAST_TRY_MS = 20;

const NOTHING = Buffer.alloc(0);

/**
 * Writes lines to a file descriptor, several at a time: with a write for each line, the log takes a twentieth of the CPU
 * of a burst. Warnings and errors are written at once, with what waits before them. Never throws, and never waits: a
 * full disk or a slow reader must not stop the work. Lines beyond what is kept meanwhile are lost, and counted in a line.
 * pino's own destination tries again in a loop that blocks the process, and syncs the file with each flush.
 */
export class LogOutput implements DestinationStream {
  /** pino sets `lastLevel` before each line. */
  readonly [METADATA] = true;
  lastLevel = 0;
  /** What could not be written, as bytes: it may begin in the middle of a character. */
  #rest: Buffer = NOTHING;
  #waiting = '';
  #lost = 0;
  #isClosed = false;
  /** Whether the last write failed. The timer tries again, not each line. */
  #isBlocked = false;
  #timer: NodeJS.Timeout | undefined;
  static #standard: LogOutput | undefined;

  /** Standard output. All loggers of a thread share it. */
  static get standard(): LogOutput {
    return (this.#standard ??= new LogOutput(1));
  }

  constructor(
    private readonly fd: number,
    private readonly writeSync: (fd: number, bytes: Buffer, from: number, length: number) => number = writeToFile,
  ) {
    process.once('exit', () => {
      this.end();
    });
  }

  write(line: string): void {
    if (this.#isClosed) return;
    if (this.#lost > 0 || this.#rest.length + this.#waiting.length + line.length > KEPT) this.#lost++;
    else this.#waiting += line;
    if (this.#isBlocked) return;
    if (this.lastLevel > WAITING_LEVEL || this.#waiting.length > WAITING) this.#flush();
    else this.#flushIn(WAIT_MS);
  }

  /** Writes what waits, when the process ends. A slow reader has 2 s for it. */
  end(): void {
    for (let tries = 0; tries < LAST_TRIES && this.#flush() === 'EAGAIN'; tries++) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_TRY_MS);
    }
  }

  #flushIn(waitMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#flush();
    }, waitMs).unref();
  }

  /** @returns the code of the error if something could not be written */
  #flush(): string | undefined {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isBlocked = false;
    const bytes = Buffer.concat([this.#rest, Buffer.from(this.#waiting)]);
    [this.#rest, this.#waiting] = [NOTHING, ''];
    let written = 0;
    try {
      while (written < bytes.length) {
        written += this.writeSync(this.fd, bytes, written, endOfPiece(bytes, written) - written);
      }
    } catch (error) {
      this.#rest = bytes.subarray(written);
      this.#isBlocked = true;
      const { code } = error as NodeJS.ErrnoException;
      // Nobody reads the pipe any more.
      if (code === 'EPIPE') this.#isClosed = true;
      else this.#flushIn(written > 0 ? NEXT_PART_MS : RETRY_MS);
      return code;
    }
    if (this.#lost === 0) return undefined;
    this.#waiting = `{"level":"warn"${pino.stdTimeFunctions.isoTime()},"lines":${this.#lost},"msg":"${LINES_LOST}"}\n`;
    this.#lost = 0;
    return this.#flush();
  }
}

/** Returns the end of the lines from there on that fit into a piece, or of one line that does not. */
function endOfPiece(bytes: Buffer, from: number): number {
  if (bytes.length - from <= PIECE) return bytes.length;
  const end = bytes.lastIndexOf('\n', from + PIECE - 1);
  return 1 + (end >= from ? end : bytes.indexOf('\n', from));
}
