import { readFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { Command, Option } from 'commander';
import { ApiClient, ApiError, printable, submitEvents } from '../../../api-client/src/index.js';
import type { EventType } from '../../../consumer/src/index.js';
import { CliError } from '../cli-error.js';
import type { CliContext } from '../context.js';
import { reportsRetries } from '../explain.js';
import { Forwarder, forwardUrl, type ForwardAttempt } from '../forwarding/forwarder.js';
import { readCatalog } from '../read-catalog.js';
import { readCredentials, type CredentialOptions } from '../settings/credentials.js';
import { eventType, urlOption } from './options.js';

interface TriggerOptions extends CredentialOptions {
  readonly data?: string;
  readonly widgetId?: string;
  readonly forwardTo?: string;
  readonly secret?: string;
}

/** Enough for a request that breaks, and soon over if the URL is wrong. */
const RETRIES = 2;
const NO_ORG = '00000000-0000-0000-0000-000000000000';

/** `gapless trigger <type>`: emits an event with example data, or sends it to a server only. */
export function triggerCommand(context: CliContext): Command {
  return new Command('trigger')
    .description(
      'Emits an event with the example data of its type. Every endpoint and reader of the organization gets it.',
    )
    .argument('<type>', 'the event type, such as ticket.created', eventType)
    .option('--data <file>', 'a JSON file with other data; - reads standard input')
    .option('--widget-id <uuid>', 'the widget of the event')
    .option('--forward-to <address>', 'do not emit it, but send it to this address alone, signed like a push')
    .addOption(new Option('--secret <secret>', 'the signing secret for --forward-to').env('GAPLESS_WEBHOOK_SECRET'))
    .addOption(urlOption())
    .addHelpText(
      'after',
      `
The API key needs events:write; with --forward-to, every key will do.

Examples:
  gapless trigger ticket.created
  gapless trigger conversation.queued --forward-to localhost:3000/webhooks --secret whsec_…`,
    )
    .action(async (type: EventType, options: TriggerOptions) => {
      await trigger(context, type, options);
    });
}

async function trigger(context: CliContext, type: EventType, options: TriggerOptions): Promise<void> {
  const { url: baseUrl, apiKey } = await readCredentials(context, options);
  const api = new ApiClient({ baseUrl, apiKey, retries: RETRIES, onRetry: reportsRetries(context) });
  const data = options.data === undefined ? await exampleOf(api, type) : await readData(context, options.data);
  const members = { event: type, widget_id: options.widgetId ?? null };
  if (options.forwardTo !== undefined) await send(context, members, data, options.forwardTo, options.secret);
  else context.print(`${await emit(api, members, data)}  ${type}`);
}

/** What an event has besides its data. */
interface Members {
  readonly event: EventType;
  readonly widget_id: string | null;
}

/** Returns the JSON of the event. The data stays as it is: parsing and printing it again would change large numbers. */
function eventJson(members: object, data: string): string {
  return `${JSON.stringify(members).slice(0, -1)},"data":${data}}`;
}

/** @returns JSON */
async function exampleOf(api: ApiClient, type: EventType): Promise<string> {
  const catalog = await readCatalog(api);
  return JSON.stringify(catalog.find(({ event }) => event === type)?.example ?? {});
}

/** @returns JSON */
async function readData(context: CliContext, file: string): Promise<string> {
  let text: string;
  try {
    text = (file === '-' ? await context.readInput() : await readFile(file)).toString();
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, 2);
  }
  try {
    JSON.parse(text);
    return text.trim();
  } catch (error) {
    throw new CliError(`${file === '-' ? 'Standard input' : file} is not JSON: ${(error as Error).message}`, 2);
  }
}

/** @returns the id of the event */
async function emit(api: ApiClient, members: Members, data: string): Promise<string> {
  // The id makes a repeated request harmless.
  const id = `evt_${randomBytes(13).toString('hex')}`;
  try {
    await submitEvents(api, [{ id, json: eventJson({ id, ...members }, data) }]);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'insufficient_scope') {
      throw new CliError(
        'The API key lacks the scope events:write. To try your handler without it, add --forward-to localhost:3000/webhooks.',
      );
    }
    throw error;
  }
  return id;
}

async function send(context: CliContext, members: Members, data: string, address: string, secret = ''): Promise<void> {
  if (secret === '') throw new CliError('--forward-to needs --secret or GAPLESS_WEBHOOK_SECRET to sign with.', 2);
  const nowMs = context.now();
  const at = new Date(nowMs).toISOString();
  const id = `evt_${randomBytes(13).toString('hex')}`;
  const event = { id, seq: 1, occurred_at: at, timestamp: at, org_id: NO_ORG, ...members };
  const url = forwardUrl(address);
  const attempts: ForwardAttempt[] = [];
  const onAttempt = (attempt: ForwardAttempt) => void attempts.push(attempt);
  const forwarder = new Forwarder({ url, secret, maxAttempts: 1, now: context.now, onAttempt });
  await forwarder.forward(event, Buffer.from(eventJson(event, data)), context.interruption());
  const [attempt] = attempts;
  if (attempt?.succeeded !== true) {
    throw new CliError(`${url} did not accept the event: ${printable(attempt?.outcome ?? 'interrupted')}.`);
  }
  context.print(printable(`${id}  ${members.event}  ✓ ${attempt.outcome}`));
}
