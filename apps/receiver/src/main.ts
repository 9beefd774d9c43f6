import { readCredentials } from './credentials.js';
import { ReceiverError } from './receiver-error.js';
import { receiverProgram, type ReceiverOptions } from './receiver-options.js';
import { Registration } from './registration.js';
import { WebhookReceiver } from './webhook-receiver.js';

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Resolves at the first Ctrl-C; npm passes it on as well, so it may come twice. */
async function untilInterrupted(): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        resolve();
      });
    }
  });
}

async function receive(options: ReceiverOptions): Promise<void> {
  const interrupted = untilInterrupted();
  const registration = options.register ? new Registration(await readCredentials(process.env['DATA_DIR'])) : undefined;
  const receiver = await WebhookReceiver.listen({
    port: options.port,
    status: options.status,
    delayMs: options.delay,
    print,
  });
  print(`Listening on ${receiver.url}`);
  try {
    if (registration === undefined) {
      receiver.useSecret(options.secret ?? '');
      await interrupted;
    } else {
      await receiveRegistered(receiver, registration, options.events, interrupted);
    }
  } finally {
    await receiver.close();
  }
}

async function receiveRegistered(
  receiver: WebhookReceiver,
  registration: Registration,
  events: readonly string[],
  interrupted: Promise<void>,
): Promise<void> {
  const endpoint = await registration.register(receiver.url, events);
  receiver.useSecret(endpoint.secret);
  print(
    `Registered as endpoint ${endpoint.id} for ${events.length === 1 ? events[0] : `${events.length} event types`}.`,
  );
  print('To emit an event, in another terminal: npm run -s gapless -- emit');
  print('Ctrl-C ends this and deletes the endpoint.\n');
  await interrupted;
  try {
    await registration.remove(endpoint.id);
    print(`\nEndpoint ${endpoint.id} is deleted.`);
  } catch (error) {
    throw new ReceiverError(`endpoint ${endpoint.id} is not deleted: ${(error as Error).message}`);
  }
}

try {
  await receiverProgram(receive).parseAsync();
} catch (error) {
  const told = error instanceof ReceiverError ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`receiver: ${told ?? 'failed'}\n`);
  process.exitCode = 1;
}
process.exit();
