import { Command } from 'commander';
import { printable } from '../../../api-client/src/index.js';
import { FeedResetError, MemoryCursor, readFeed, type EventType, type FeedStart } from '../../../consumer/src/index.js';
import type { CliContext } from '../context.js';
import { aheadOfFeed, openFeed } from '../feed/open-feed.js';
import { RawEvents } from '../feed/raw-events.js';
import { readCredentials, type CredentialOptions } from '../settings/credentials.js';
import { untilInterrupted } from '../until-interrupted.js';
import { eventLine } from './event-line.js';
import { eventType, feedStart, urlOption } from './options.js';

interface TailOptions extends CredentialOptions {
  readonly event?: EventType;
  readonly from: FeedStart;
  readonly follow: boolean;
  readonly json?: boolean;
}

/** `gapless events`: commands about the feed. */
export function eventsCommand(context: CliContext): Command {
  return new Command('events').description('Shows the events of the organization.').addCommand(tailCommand(context));
}

function tailCommand(context: CliContext): Command {
  return new Command('tail')
    .description('Prints events as they come.')
    .option('--event <type>', 'only this type', eventType)
    .option('--from <start>', 'head, beginning, or the seq after which to begin', feedStart, 'head')
    .option('--no-follow', 'end after the newest event')
    .option('--json', 'print whole events, one on each line')
    .addOption(urlOption())
    .addHelpText(
      'after',
      `
The API key needs events:read.

Examples:
  gapless events tail
  gapless events tail --from beginning --no-follow --json | jq .data`,
    )
    .action(async (options: TailOptions) => {
      await untilInterrupted(context, (signal) => tail(context, options, signal));
    });
}

async function tail(context: CliContext, options: TailOptions, signal: AbortSignal): Promise<void> {
  const credentials = await readCredentials(context, options);
  const raw = new RawEvents();
  const { feed, headSeq } = await openFeed(context, credentials, raw.http, signal);
  if (typeof options.from === 'number' && options.from > headSeq) {
    if (!options.follow) throw new FeedResetError(options.from, headSeq);
    context.report(aheadOfFeed(options.from, headSeq));
  }
  const batches = readFeed({
    feed,
    cursor: new MemoryCursor(),
    startAt: options.from === 'head' ? headSeq : options.from,
    follow: options.follow,
    signal,
    onPruned: ({ message }) => {
      context.report(`${message}.`);
    },
    ...(options.event === undefined ? {} : { event: options.event }),
  });
  for await (const events of batches) {
    for (const event of events) {
      // Spaces for line breaks between tokens: one event is one line.
      const json = () =>
        raw
          .bytesOf(event)
          .toString()
          .replaceAll(/[\r\n]+/g, ' ');
      context.print(options.json === true ? (context.isOutputTerminal ? printable(json()) : json()) : eventLine(event));
    }
  }
}
