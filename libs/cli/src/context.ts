/** The parts of the process that commands use, so that tests can replace them. */
export interface CliContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The home directory of the user. */
  readonly home: string;
  readonly platform: NodeJS.Platform;
  /** Whether a person types the input, so that they can be asked. */
  readonly isInputTerminal: boolean;
  /** Whether the output goes to a terminal, which control characters would change. */
  readonly isOutputTerminal: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly print: (line: string) => void;
  /** Prints a line that is no part of the result, such as a warning. */
  readonly report: (line: string) => void;
  /** Reads standard input to its end. */
  readonly readInput: () => Promise<Buffer>;
  /** Asks for a text that is not shown while it is typed. */
  readonly askHidden: (question: string) => Promise<string>;
  /** Is aborted when the user ends the command. */
  readonly interruption: () => AbortSignal;
}
