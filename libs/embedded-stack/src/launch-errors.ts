/** A server cannot have its port. It can be started on another one. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';

  /** @param port the one that is taken; `undefined` if the server did not say which */
  constructor(
    message: string,
    readonly port: number | undefined,
  ) {
    super(message);
  }
}

/** A process that was killed a moment ago still holds the server's directory. */
export class DirectoryHeldError extends Error {
  override readonly name = 'DirectoryHeldError';
}

/** How Kafka and Postgres say that a port is taken, Kafka with the port: `bind to 127.0.0.1:9092: Address already in use`. */
const TAKEN = /(?:bind to \S*?:(\d+)\S* )?Address already in use/;

/** How Kafka and Postgres say that somebody uses their directory. */
const HELD = /Failed to acquire lock on file|pre-existing shared memory block .* is still in use/;

/** Returns why a server that failed at its start can be launched again, read from its output; otherwise `undefined`. */
export function relaunchReason(output: string, message: string): PortTakenError | DirectoryHeldError | undefined {
  const taken = TAKEN.exec(output);
  if (taken !== null) return new PortTakenError(message, taken[1] === undefined ? undefined : Number(taken[1]));
  return HELD.test(output) ? new DirectoryHeldError(message) : undefined;
}
