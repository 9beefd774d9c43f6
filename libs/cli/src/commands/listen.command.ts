import { Command } from 'commander';
import { readFeed, type EventType, type FeedStart } from '../../../consumer/src/index.js';
import type { CliContext } from '../context.js';
import { ListenState } from '../feed/listen-state.js';
import { aheadOfFeed, openFeed, type OpenFeed } from '../feed/open-feed.js';
import { RawEvents } from '../feed/raw-events.js';
import { readOrgId } from '../feed/read-org-id.js';
import { Forwarder, forwardUrl, type ForwardAttempt } from '../forwarding/forwarder.js';
import { readCredentials, type CredentialOptions } from '../settings/credentials.js';
import { untilInterrupted } from '../until-interrupted.js';
import { eventLine } from './event-line.js';
import { eventTypes, feedStart, urlOption, wholeNumber } from './options.js';

interface ListenOptions extends CredentialOptions {
  readonly forwardTo: string;
  readonly events?: readonly EventType[];
  readonly secret?: string;
  readonly from?: FeedStart;
  readonly maxAttempts?: number;
  readonly name: string;
}

/** `gapless listen`: forwards the events of the feed to a server on this machine. */
export function listenCommand(context: CliContext): Command {
  return new Command('listen')
    .description('Forwards events to your server, signed as real pushes, in order, each until it gets a 2xx.')
    .requiredOption('--forward-to <address>', 'where to send events, such as localhost:3000/webhooks')
    .option('--events <types>', 'only these types, separated by commas', eventTypes)
    .option('--from <start>', 'head, beginning or a seq; default: where it stopped, at first head', feedStart)
    .option('--secret <secret>', 'the signing secret (default: GAPLESS_WEBHOOK_SECRET, or a generated one)')
    .option('--max-attempts <n>', 'give an event up after so many attempts; default: never', wholeNumber(1))
    .option('--name <name>', 'keeps several listeners apart, each with its own position', 'default')
    .addOption(urlOption())
    .addHelpText(
      'after',
      `
The position is stored after each event. Whether the command is killed or the machine sleeps, the next run continues
there. An event whose answer was on its way may then come again: deduplicate on its id. The API key needs events:read.

Examples:
  gapless listen --forward-to localhost:3000/webhooks
  gapless listen --forward-to localhost:3000/webhooks --events ticket.created,ticket.updated --from beginning`,
    )
    .action(async (options: ListenOptions) => {
      await untilInterrupted(context, (signal) => listen(context, options, signal));
    });
}

async function listen(context: CliContext, options: ListenOptions, signal: AbortSignal): Promise<void> {
  const { print, report, now } = context;
  const url = forwardUrl(options.forwardTo);
  const credentials = await readCredentials(context, options);
  const raw = new RawEvents();
  const { feed, ...bounds } = await openFeed(context, credentials, raw.http, signal);
  const orgId = await readOrgId(context, credentials, signal);
  const state = await ListenState.open(context, credentials, orgId, options.name);
  const given = options.secret ?? context.environment['GAPLESS_WEBHOOK_SECRET'] ?? '';
  const secret = given === '' ? state.secret : given;
  const forwarder = new Forwarder({
    url,
    secret,
    now,
    onAttempt: (attempt) => {
      print(attemptLine(attempt));
    },
    ...(options.maxAttempts === undefined ? {} : { maxAttempts: options.maxAttempts }),
  });
  report(`Forwarding to ${url}`);
  report(given === '' ? `Signing secret: ${secret}` : 'Signing with the secret that you passed.');
  const from = options.from ?? (state.seq === undefined ? 'head' : undefined);
  if (from !== undefined) await state.save(seqOf(from, bounds));
  // Printed once the position is stored: every later event is forwarded.
  const position = state.seq ?? 0;
  report(`Waiting for events after #${position}.`);
  if (position > bounds.headSeq) report(aheadOfFeed(position, bounds.headSeq));
  const [only, ...others] = options.events ?? [];
  // Retention may remove the oldest events before they are read: then the beginning is after them.
  const isAtBeginning = (from === 'beginning' || from === 0) && position < bounds.headSeq;
  const batches = readFeed({
    feed,
    cursor: state,
    signal,
    onPruned: ({ message, since }) => {
      if (isAtBeginning && since === position) return;
      report(`Some events are gone, since you were away for longer than the retention: ${message}.`);
    },
    ...(only === undefined || others.length > 0 ? {} : { event: only }),
  });
  for await (const events of batches) {
    for (const event of events) {
      const isWanted = options.events === undefined || options.events.includes(event.event);
      if (isWanted && !(await forwarder.forward(event, raw.bytesOf(event), signal))) return;
      if (isWanted) await state.save(event.seq);
    }
  }
}

/**
 * Returns the position to store. The beginning is before the oldest event that there is. At a stored 0, events that
 * retention has removed count as lost.
 */
function seqOf(start: FeedStart, { oldestSeq, headSeq }: Pick<OpenFeed, 'oldestSeq' | 'headSeq'>): number {
  if (start === 'head') return headSeq;
  return start === 'beginning' || start === 0 ? Math.max(0, oldestSeq - 1) : start;
}

function attemptLine({ event, attempt, outcome, succeeded, durationMs }: ForwardAttempt): string {
  const tries = attempt === 1 ? '' : `, attempt ${attempt}`;
  return `${eventLine(event)}  ${succeeded ? '✓' : '✗'} ${outcome}  ${Math.round(durationMs)} ms${tries}`;
}
