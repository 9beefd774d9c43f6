import { Command, InvalidArgumentError, Option } from 'commander';
import { EVENT_TYPES } from '#libs/consumer';
import { parseDuration } from '#libs/runtime';

/** The options of the command line. */
export interface ConsumerOptions {
  /** The address to listen on, which is also the host in the endpoint's url. */
  readonly host: string;
  readonly port: number;
  /** Whether to register an endpoint, and delete it at the end. */
  readonly register: boolean;
  readonly events: readonly string[];
  /** Set only with `register: false`. */
  readonly secret?: string;
  readonly status: number;
  /** How long each response takes, in milliseconds. */
  readonly delay: number;
  /** The url of the Postgres that remembers handled events. */
  readonly database?: string;
}

function integerFrom(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`expected an integer from ${min} to ${max}`);
  };
}

function readDelay(text: string): number {
  const delayMs = parseDuration(text);
  if (delayMs === undefined) throw new InvalidArgumentError('expected a duration such as 500ms or 9s');
  return delayMs;
}

function readEvents(text: string): readonly string[] {
  const events = text.split(',').map((event) => event.trim());
  if (events.includes('')) throw new InvalidArgumentError('expected event types, separated by commas');
  return events;
}

/** @param act called with the options */
export function consumerProgram(act: (options: ConsumerOptions) => Promise<void>): Command {
  const program = new Command('receiver')
    .description(
      "A customer's consumer. Registers itself as an endpoint with the Gapless that npm start runs here, verifies what it " +
        'is pushed, reads what it is not pushed from the feed, and prints every event once, in order, with the alerts that ' +
        'are raised and cleared. Ctrl-C ends it and deletes the endpoint.',
    )
    .option('--host <address>', 'where to listen, and where Gapless is to push to', '127.0.0.1')
    .addOption(new Option('--port <port>', 'where to listen').argParser(integerFrom(0, 65_535)).default(0, 'any'))
    .addOption(
      new Option('--events <a,b>', 'event types to subscribe to').argParser(readEvents).default(EVENT_TYPES, 'all'),
    )
    .option('--no-register', 'only listen, for an endpoint that is registered already; needs --secret')
    .option('--secret <secret>', 'what pushes are signed with, with --no-register')
    .option('--status <code>', 'answer pushes with this, to see them retried', integerFrom(200, 599), 200)
    .addOption(
      new Option('--delay <duration>', 'take this long to answer; 10 s count as a failure')
        .argParser(readDelay)
        .default(0, 'none'),
    )
    .option('--database <url>', 'store the last handled event in this Postgres, and continue after it the next time')
    .showHelpAfterError('(try --help)')
    .action(async (options: ConsumerOptions) => {
      if (options.register && options.secret !== undefined) {
        program.error(
          'error: --secret goes with --no-register: an endpoint that is registered gets a secret of its own',
        );
      }
      if (!options.register && options.secret === undefined) {
        program.error('error: --no-register needs --secret, the one that the endpoint was created with');
      }
      await act(options);
    });
  return program;
}
