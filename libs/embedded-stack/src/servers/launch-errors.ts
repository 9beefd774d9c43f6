/** The server's port is taken. The server can be started on another one. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';

  /** @param port the taken port; `undefined` if the server did not report it */
  constructor(
    message: string,
    readonly port: number | undefined,
  ) {
    super(message);
  }
}

/** A process that was just killed still holds the server's directory. */
export class DirectoryHeldError extends Error {
  override readonly name = 'DirectoryHeldError';
}

/** How Kafka and Postgres report a taken port; Kafka names it: `bind to 127.0.0.1:9092: Address already in use`. */
const TAKEN = /(?:bind to \S*?:(\d+)\S* )?Address already in use/;

/** How Kafka and Postgres report that their directory is in use. */
const HELD = /Failed to acquire lock on file|pre-existing shared memory block .* is still in use/;

/** Returns the reason to launch a server again after a failed start, read from its output; otherwise `undefined`. */
export function relaunchReason(output: string, message: string): PortTakenError | DirectoryHeldError | undefined {
  const taken = TAKEN.exec(output);
  if (taken !== null) return new PortTakenError(message, taken[1] === undefined ? undefined : Number(taken[1]));
  return HELD.test(output) ? new DirectoryHeldError(message) : undefined;
}
