/**
 * Who answers on the port of a server that was launched: the server itself, nobody yet, or somebody else who was faster
 * to take the port.
 */
export type WhoAnswers = 'ours' | 'nobody' | 'stranger';

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

/** How Kafka and Postgres say that a port is taken, each with the port: `…bind to 127.0.0.1:9092: Address already in use`. */
const TAKEN = /(?:bind to \S*?:(\d+)\S* )?Address already in use/;

/** The port that a server's own words say is taken: `null` when they say nothing of the kind. */
export function takenPortIn(output: string): { readonly port: number | undefined } | null {
  const found = TAKEN.exec(output);
  if (found === null) return null;
  return { port: found[1] === undefined ? undefined : Number(found[1]) };
}
