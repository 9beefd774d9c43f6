import { Agent, request, type IncomingHttpHeaders } from 'node:http';

/** A request, sent as it is: unlike `fetch`, nothing tidies its path up. */
export interface Ask {
  readonly method: string;
  /** From the first slash on, the query included. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  /** Reads the first piece of the answer alone, because the answer may have no end. */
  readonly isEndless?: boolean;
}

/** What the api answered. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Speaks HTTP to one server over connections that are kept open. */
export class HttpPort {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });

  /** @param baseUrl without a path */
  constructor(private readonly baseUrl: string) {}

  ask({ method, path, headers = {}, body, isEndless = false }: Ask): Promise<Answer> {
    const { hostname, port } = new URL(this.baseUrl);
    const hasNoLength = body === undefined || 'transfer-encoding' in headers;
    const length = hasNoLength ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          agent: this.#agent,
          hostname,
          port,
          method,
          path,
          headers: { ...length, ...headers } as Record<string, string>,
        },
        (response) => {
          const chunks: Buffer[] = [];
          const end = () => {
            const { statusCode = 0, headers: answered } = response;
            resolve({ status: statusCode, headers: answered, text: Buffer.concat(chunks).toString() });
          };
          response.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
            if (!isEndless) return;
            end();
            response.destroy();
          });
          response.on('end', end);
          response.on('error', reject);
        },
      );
      // A refusal can come before all of the body is sent; whichever is first counts.
      sent.on('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
