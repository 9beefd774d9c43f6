import { pino, type DestinationStream } from 'pino';

/** Lines of at most this level may wait. There are many, and nobody has to act on one. */
const WAITING_LEVEL = pino.levels.values['info'] ?? 0;
/** How long a line waits for others, milliseconds. */
const WAIT_MS = 100;
/** Bytes that wait at most. */
const WAITING_BYTES = 8 * 1024;

/**
 * Writes lines to a file descriptor, several at a time: with a write for each line, the log takes a twentieth of the CPU
 * of a burst. Warnings and errors are written at once, with what waits before them.
 * @returns a destination for pino
 */
export function logOutput(fd: number): DestinationStream {
  const file = pino.destination({ dest: fd, sync: true, minLength: WAITING_BYTES });
  let flushing: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(flushing);
    flushing = undefined;
    file.flushSync();
  };
  process.once('exit', flush);
  return {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      file.write(line);
      if (this.lastLevel > WAITING_LEVEL) flush();
      else flushing ??= setTimeout(flush, WAIT_MS).unref();
    },
  } as DestinationStream & { lastLevel: number };
}
