import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher, Pool } from 'undici';

export interface PostAnswer {
  readonly statusCode: number;
  /** The body as it came, in pieces. */
  readonly chunks: readonly Buffer[];
}

/** Collects an answer with nothing between it and the connection: no stream, no signal. */
class PostHandler implements Dispatcher.DispatchHandler {
  readonly #chunks: Buffer[] = [];
  #statusCode = 0;

  constructor(
    private readonly done: (answer: PostAnswer) => void,
    private readonly failed: (error: Error) => void,
  ) {}

  onRequestStart(): void {
    // Nothing can be aborted here.
  }

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, _headers: IncomingHttpHeaders): void {
    this.#statusCode = statusCode;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.done({ statusCode: this.#statusCode, chunks: this.#chunks });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.failed(error);
  }
}

/** One POST, as cheaply as undici can. */
export function post(
  pool: Pool,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Promise<PostAnswer> {
  return new Promise((done, failed) => {
    pool.dispatch({ path, method: 'POST', headers, body }, new PostHandler(done, failed));
  });
}
