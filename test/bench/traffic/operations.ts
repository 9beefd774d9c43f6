/** What a process of the benchmark can be asked to do, each with one argument that can be sent between processes. */
export type Operations = Readonly<Record<string, (argument: never) => unknown>>;

export interface Question {
  readonly number: number;
  readonly operation: string;
  readonly argument: unknown;
}

export type Answer =
  | { readonly number: number; readonly kind: 'done'; readonly result: unknown }
  | { readonly number: number; readonly kind: 'failed'; readonly reason: string };

/** Does what the parent process asks for, until it lets go of this one. */
export function serveOperations(operations: Operations): void {
  const print = (answer: Answer) => process.send?.(answer);
  const act = async ({ number, operation, argument }: Question) => {
    try {
      const asked = operations[operation];
      if (asked === undefined) throw new Error(`there is no operation ${operation}`);
      print({ number, kind: 'done', result: await asked(argument as never) });
    } catch (error) {
      print({
        number,
        kind: 'failed',
        reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    }
  };
  process.on('message', (question: Question) => void act(question));
  process.on('disconnect', () => {
    process.exit();
  });
  // Ctrl-C reaches the whole group; the parent ends this process when it has no more use for it.
  process.on('SIGINT', () => undefined);
}
