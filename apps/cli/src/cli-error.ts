import { OperatorError } from '#libs/domain';

/** A command got invalid input, or cannot do what it was asked for. */
export class CliError extends OperatorError {
  override readonly name = 'CliError';

  constructor(
    message: string,
    /** The exit code of the process. */
    readonly exitCode = 1,
  ) {
    super(message);
  }
}
