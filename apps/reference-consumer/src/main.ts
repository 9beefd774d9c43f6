import axios from 'axios';
import { ApiError, FeedClient, type GaplessEvent, type Push } from '#libs/consumer';
import { stopSignal, untilAborted } from '#libs/runtime';
import { ConsumerError } from './consumer-error.js';
import { consumerProgram, type ConsumerOptions } from './consumer-options.js';
import { memoryState, postgresState, type ConsumerState } from './consumer-state.js';
import { Consumption } from './consumption.js';
import { credentialsPath, emitCommand, readCredentials, type Credentials } from './credentials.js';
import { EventPrinter } from './event-printer.js';
import { Registration } from './registration.js';
import { takingPushes } from './taking-pushes.js';
import { WebhookServer } from './webhook-server.js';

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Returns a signal that Ctrl-C aborts, or the end of the program that reads the output (`receiver | head`). */
function interruption(): AbortSignal {
  const unread = new AbortController();
  process.stdout.on('error', () => {
    unread.abort();
  });
  return AbortSignal.any([stopSignal(), unread.signal]);
}

async function consume(options: ConsumerOptions): Promise<void> {
  const interrupted = interruption();
  const path = credentialsPath(process.env['DATA_DIR']);
  const credentials = await readCredentials(path);
  if (credentials === undefined) {
    if (options.register || options.database !== undefined) {
      throw new ConsumerError(
        `${path} does not exist: start Gapless first (npm start), or set DATA_DIR to its data folder`,
      );
    }
    print(`${path} does not exist, so there is no feed: the receiver prints events as they are pushed.`);
    await receivePushes(options, interrupted);
    return;
  }
  const state = options.database === undefined ? memoryState() : await postgresState(options.database);
  try {
    await consumeStream(options, credentials, state, interrupted);
  } finally {
    await state.close();
  }
}

async function receivePushes(options: ConsumerOptions, interrupted: AbortSignal): Promise<void> {
  const { status } = options;
  const server = await listen(options, takingPushes({ printer: new EventPrinter(print), status, print }));
  server.useSecret(options.secret ?? '');
  await untilAborted(interrupted);
  await server.close();
}

async function consumeStream<Transaction>(
  options: ConsumerOptions,
  credentials: Credentials,
  state: ConsumerState<Transaction>,
  interrupted: AbortSignal,
): Promise<void> {
  const { base_url: baseUrl, api_key: apiKey, org_id: orgId } = credentials;
  // Gapless is on this machine, so proxies of the environment do not apply.
  const feed = new FeedClient({ baseUrl, apiKey, http: axios.create({ proxy: false }) });
  await checkFeed(feed, baseUrl);
  let ready: (position: number) => void = () => undefined;
  const readiness = new Promise<number>((resolve) => {
    ready = resolve;
  });
  const consumption = new Consumption({
    orgId,
    feed,
    state,
    events: options.events,
    printer: new EventPrinter(print),
    status: options.status,
    print,
    onReady: (position) => {
      ready(position);
    },
  });
  const server = await listen(options, (event, push) => consumption.take(event, push));
  try {
    const running = consumption.run(interrupted);
    // This comes before an endpoint is registered, so that every push is after the position.
    const position = await Promise.race([readiness, running]);
    if (position === undefined) return;
    print(`Prints events after #${position}, pushed or read from the feed.`);
    if (!options.register) server.useSecret(options.secret ?? '');
    await Promise.all([running, ...(options.register ? [registered(server, credentials, options, interrupted)] : [])]);
  } finally {
    await server.close();
  }
}

/** @throws ConsumerError that says what is wrong, because trying again would not help */
async function checkFeed(feed: FeedClient, baseUrl: string): Promise<void> {
  try {
    await feed.page({ since: 0, limit: 1 }, { retries: 0 });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ConsumerError(
      error.status === undefined
        ? `Gapless does not answer at ${baseUrl} (${error.code}): start it first (npm start)`
        : `the feed cannot be read: ${error.message}`,
    );
  }
}

async function listen(
  { host, port, status, delay }: ConsumerOptions,
  take: (event: GaplessEvent, push: Push) => void | Promise<void>,
): Promise<WebhookServer> {
  const server = await WebhookServer.listen({ host, port, status, delayMs: delay, take, print });
  print(`Listening on ${server.url}`);
  return server;
}

/** Registers an endpoint, and deletes it at the end. */
async function registered(
  server: WebhookServer,
  credentials: Credentials,
  { events }: ConsumerOptions,
  interrupted: AbortSignal,
): Promise<void> {
  const registration = new Registration(credentials);
  const endpoint = await registration.register(server.url, events);
  server.useSecret(endpoint.secret);
  print(
    `Registered as endpoint ${endpoint.id} for ${events.length === 1 ? events[0] : `${events.length} event types`}.`,
  );
  print(`To emit an event, in another terminal: ${emitCommand(process.env['DATA_DIR'])}`);
  print('Ctrl-C ends this and deletes the endpoint.\n');
  await untilAborted(interrupted);
  try {
    await registration.remove(endpoint.id);
    print(`\nEndpoint ${endpoint.id} is deleted.`);
  } catch (error) {
    throw new ConsumerError(`endpoint ${endpoint.id} is not deleted: ${(error as Error).message}`);
  }
}

try {
  await consumerProgram(consume).parseAsync();
} catch (error) {
  const text = error instanceof ConsumerError ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`receiver: ${text ?? 'failed'}\n`);
  process.exitCode = 1;
}
process.exit();
