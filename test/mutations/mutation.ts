/** A deliberate break of the core, as a change of its text, and the test that is there to catch it. */
export interface Mutation {
  readonly name: string;
  /** The break in plain words. */
  readonly breaks: string;
  readonly file: string;
  /** Is in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  readonly caughtBy: NamedTest;
}

export interface NamedTest {
  readonly project: 'unit' | 'integration';
  readonly file: string;
  /** What its name, or the names of a table of tests, hold. */
  readonly name: string;
}

/** @throws when the text to break does not stand there exactly once: the code has moved on, and the mutation has to follow */
export function mutate(mutation: Omit<Mutation, 'breaks' | 'caughtBy'>, source: string): string {
  const parts = source.split(mutation.find);
  if (parts.length !== 2) {
    throw new Error(`${mutation.name}: ${mutation.file} holds the text to break ${parts.length - 1} times, not once`);
  }
  return parts.join(mutation.replace);
}
