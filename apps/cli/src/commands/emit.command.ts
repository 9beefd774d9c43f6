import { Command, InvalidArgumentError } from 'commander';
import { catalogEntry, EVENT_TYPES, isIngestable, type Clock } from '#libs/domain';
import { Identifiers, type Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';
import { emitRequests } from './emit-requests.js';
import { GaplessClient } from './gapless-client.js';

const MAX_COUNT = 1_000_000;

interface EmitFlags {
  readonly event: string;
  readonly data?: string;
  readonly widget?: string;
  readonly count: number;
}

/** `emit`: submits example events to the Gapless that runs here (contract 5.6). */
export function emitCommand(
  context: { readonly clock: Clock; readonly print: (line: string) => void },
  environment: Environment = process.env,
): Command {
  return new Command('emit')
    .description('emit events to the Gapless that npm start runs here, and print their ids')
    .option('--event <type>', 'the type of the event', 'ticket.created')
    .option('--data <json>', 'the payload; default: the example of the type')
    .option('--widget <uuid>', 'the widget that it belongs to')
    .option('--count <n>', 'how many times', readCount, 1)
    .action(async (flags: EmitFlags) => {
      const identifiers = new Identifiers(context.clock);
      const requests = emitRequests({
        event: flags.event,
        dataJson: flags.data === undefined ? exampleOf(flags.event) : checkedJson(flags.data),
        widgetId: flags.widget,
        count: flags.count,
        newId: () => identifiers.eventId(),
      });
      const client = await GaplessClient.connect(environment);
      for (const events of requests) {
        await client.submit(events);
        for (const { id } of events) context.print(id);
      }
    });
}

function readCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MAX_COUNT) return count;
  throw new InvalidArgumentError(`expected an integer from 1 to ${MAX_COUNT}`);
}

function exampleOf(event: string): string {
  if (isIngestable(event)) return JSON.stringify(catalogEntry(event).example);
  throw new CliError(`unknown event type ${event}; use one of ${EVENT_TYPES.filter(isIngestable).join(', ')}`);
}

/** Returns the text itself, because the spelling of its numbers is part of the payload. */
function checkedJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw new CliError(`--data is not JSON: ${(error as Error).message}`);
  }
}
