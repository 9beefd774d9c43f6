/** A command got invalid input, or cannot do what it was asked for. The message says what to do next. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    message: string,
    /** The exit code of the process. */
    readonly exitCode = 1,
  ) {
    super(message);
  }
}
