import { OperatorError } from '#libs/domain';

/** Causes that concern the port, and not the host. */
const OF_PORTS = new Set(['EADDRINUSE', 'EACCES']);

/** A process cannot listen where its settings say. */
export class ListenError extends OperatorError {
  override readonly name = 'ListenError';

  constructor(host: string, port: number, cause: NodeJS.ErrnoException) {
    const reason = cause.code === 'EADDRINUSE' ? 'another process uses it' : cause.message;
    super(
      OF_PORTS.has(cause.code ?? '')
        ? `PORT: cannot listen at ${host}, port ${port}: ${reason}; set another PORT`
        : `HOST: cannot listen at ${host}: ${reason}; set HOST to an address of this machine`,
      { cause },
    );
  }
}
