import { SingleBar } from 'cli-progress';

/** Shows the progress of a task. */
export interface Progress {
  begin(title: string, total: number): void;
  advance(by: number): void;
  end(): void;
}

/** Shows a bar on standard error if that is a terminal; otherwise nothing. */
export function terminalProgress(): Progress {
  const bar = new SingleBar({
    format: '{title} [{bar}] {percentage}% {value}/{total}',
    stream: process.stderr,
    noTTYOutput: false,
    clearOnComplete: true,
    hideCursor: true,
  });
  return {
    begin(title, total) {
      bar.start(total, 0, { title });
    },
    advance(by) {
      bar.increment(by);
    },
    end() {
      bar.stop();
    },
  };
}
