import { OperatorError } from '#libs/domain';

/** A process cannot listen where its settings say. */
export class ListenError extends OperatorError {
  override readonly name = 'ListenError';

  constructor(host: string, port: number, cause: NodeJS.ErrnoException) {
    const reason = cause.code === 'EADDRINUSE' ? 'another process uses it' : cause.message;
    super(`PORT: cannot listen at ${host}, port ${port}: ${reason}; set another PORT`, { cause });
  }
}
