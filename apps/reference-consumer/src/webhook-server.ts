import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook, type GaplessEvent, type Push } from '#libs/consumer';
import { ConsumerError } from './consumer-error.js';
import { eventText, refusalText } from './event-text.js';

export interface WebhookServerOptions {
  /** The address of this machine to listen on. */
  readonly host: string;
  /** The port to listen on; 0 takes any free one. */
  readonly port: number;
  /** The status that answers verified pushes, which are accepted if it is 2xx. */
  readonly status: number;
  /** How long each response takes, in milliseconds. */
  readonly delayMs: number;
  /** Handles an accepted push after its response. */
  readonly take: (event: GaplessEvent, push: Push) => void | Promise<void>;
  readonly print: (text: string) => void;
}

/** A customer's HTTP server for pushes. It responds as its options say, unlike the adapters of `@gapless/consumer`. */
export class WebhookServer {
  /** Pushes wait for the secret, because the first ones may come before the registration has returned it. */
  readonly #secret: Promise<string>;
  #learn: (secret: string) => void = () => undefined;
  readonly #webhook: Webhook;

  private constructor(
    private readonly server: Server,
    private readonly options: WebhookServerOptions,
  ) {
    const { print, status, take } = options;
    this.#secret = new Promise((resolve) => {
      this.#learn = resolve;
    });
    this.#webhook = new Webhook({
      secret: () => this.#secret,
      handle: (event, push) => {
        if (isSuccess(status)) return take(event, push);
        print(eventText(event, { kind: 'pushed', push, status }));
      },
      onError: (error, event) => {
        print(`${event.id} was not handled: ${String(error)}`);
      },
    });
  }

  /** @throws ConsumerError when it cannot listen on the port */
  static async listen(options: WebhookServerOptions): Promise<WebhookServer> {
    const server = createServer();
    const receiver = new WebhookServer(server, options);
    server.on('request', (request, response) => void receiver.#answer(request, response));
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        reject(new ConsumerError(`cannot listen on ${options.host}:${options.port}: ${error.code ?? error.message}`));
      });
      server.listen(options.port, options.host, resolve);
    });
    return receiver;
  }

  get url(): string {
    const { host } = this.options;
    return `http://${isIPv6(host) ? `[${host}]` : host}:${(this.server.address() as AddressInfo).port}/`;
  }

  /** Sets the secret, which pushes wait for before they are answered. */
  useSecret(secret: string): void {
    this.#learn(secret);
  }

  /** Resolves once all accepted pushes are handled. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.close(() => {
        resolve();
      });
      this.server.closeAllConnections();
    });
    await this.#webhook.idle();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end('This receives webhooks by POST.\n');
      return;
    }
    const body = await readBody(request, this.#webhook.maxBodyBytes);
    const reception = await this.#webhook.receive({ body, header: (name) => request.headers[name] });
    if (reception.kind === 'refused') {
      this.options.print(refusalText(reception.reason, reception.status));
      if (body === 'too_large') response.setHeader('connection', 'close');
      response.writeHead(reception.status).end();
      return;
    }
    const { delayMs, status } = this.options;
    if (delayMs > 0) await delay(delayMs);
    response.once('close', () => void reception.begin());
    response.writeHead(status).end();
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Reads the body. The signature of a body that breaks off does not verify. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too_large'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return 'too_large';
      chunks.push(chunk);
    }
  } catch {
    return Buffer.alloc(0);
  }
  return Buffer.concat(chunks);
}
