/** A request without an answer. It does not say whether the request was carried out. */
export class NoAnswer extends Error {
  /**
   * @param reason whether there was an answer neither in time, or no connection at all
   * @param isAction whether the request would have changed something
   */
  constructor(
    readonly reason: 'too late' | 'unreachable',
    readonly isAction: boolean,
  ) {
    super(`No answer: ${reason}`);
    this.name = 'NoAnswer';
  }
}

/** Whether something was asked for that may have been done, although nobody said so. */
export function mayHaveHappened(error: unknown): boolean {
  return error instanceof NoAnswer && error.isAction && error.reason === 'too late';
}

/** Returns what people read about it. */
export function noAnswerText({ reason, isAction }: NoAnswer): string {
  if (reason === 'unreachable') {
    return isAction
      ? 'The server cannot be reached. Check your connection, and whether this was done, before you try again.'
      : 'The server cannot be reached. Check your connection, then try again.';
  }
  return isAction
    ? 'The server did not answer in time. It may have done this all the same: check that before you try again.'
    : 'The server did not answer in time. Try again.';
}
