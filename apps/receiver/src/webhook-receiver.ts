import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { verifySignature } from '#libs/webhook-signature';
import { refusedPushText, verifiedPushText } from './push-text.js';
import { ReceiverError } from './receiver-error.js';

/** Four times the largest event. */
const MAX_BODY_BYTES = 1024 * 1024;

export interface WebhookReceiverOptions {
  /** 0 takes any that is free. */
  readonly port: number;
  /** What verified pushes are answered with. */
  readonly status: number;
  /** How long it takes to answer, milliseconds. */
  readonly delayMs: number;
  readonly print: (text: string) => void;
}

/**
 * What a customer's receiver does (spec 5.3): verifies each push over the raw body before anything else, answers 401 if
 * that fails, and prints what it was pushed.
 */
export class WebhookReceiver {
  /** The first pushes may come before whoever registered the endpoint has learned its secret. */
  readonly #secret: Promise<string>;
  #learn: (secret: string) => void = () => undefined;

  private constructor(
    private readonly server: Server,
    private readonly options: WebhookReceiverOptions,
  ) {
    this.#secret = new Promise((resolve) => {
      this.#learn = resolve;
    });
  }

  /** @throws ReceiverError when it cannot listen on the port */
  static async listen(options: WebhookReceiverOptions): Promise<WebhookReceiver> {
    const server = createServer();
    const receiver = new WebhookReceiver(server, options);
    server.on('request', (request, response) => void receiver.#answer(request, response));
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        reject(new ReceiverError(`cannot listen on port ${options.port}: ${error.code ?? error.message}`));
      });
      server.listen(options.port, '127.0.0.1', resolve);
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  /** Pushes wait for this before they are answered. */
  useSecret(secret: string): void {
    this.#learn(secret);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.close(() => {
        resolve();
      });
      this.server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end('This receives webhooks by POST.\n');
      return;
    }
    const body = await readBody(request);
    if (body === undefined) {
      response.writeHead(413, { connection: 'close' }).end();
      return;
    }
    const header = request.headers['x-service-signature'];
    const verdict = verifySignature({ body, header, secret: await this.#secret });
    if (!verdict.valid) {
      response.writeHead(401).end();
      this.options.print(refusedPushText(verdict.reason, 401));
      return;
    }
    const { status, delayMs, print } = this.options;
    print(verifiedPushText({ headers: request.headers, body, status }));
    if (delayMs > 0) await delay(delayMs);
    response.writeHead(status).end();
  }
}

/** `undefined` for a body that is too long, or that breaks off. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) return undefined;
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}
