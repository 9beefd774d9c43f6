import { OperatorError } from '#libs/domain';

/** A command was given something wrong, or cannot do what it was asked for. */
export class CliError extends OperatorError {
  override readonly name = 'CliError';

  constructor(
    message: string,
    /** Of the process. */
    readonly exitCode = 1,
  ) {
    super(message);
  }
}
