/** An error that an operator can fix, shown without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    message: string,
    /** Of the process. */
    readonly exitCode = 1,
  ) {
    super(message);
  }
}
