import { ApiError, type ApiAnswer } from '../../../api-client/src/index.js';
import type { Cursor, CursorRequestOptions } from './cursor.js';
import type { ReaderApi } from './reader-api.js';

/**
 * A cursor that Gapless itself stores (contract 5.8), so that the reader needs no database. It never goes back, so a
 * process that was frozen cannot undo another's progress. `FeedClient.cursor` makes it.
 */
export class NamedCursor implements Cursor {
  readonly #api: ReaderApi;
  readonly #path: string;

  constructor(
    api: ReaderApi,
    readonly name: string,
  ) {
    this.#api = api;
    this.#path = `/external/cursors/${encodeURIComponent(name)}`;
  }

  /** @throws ApiError */
  async load(options: CursorRequestOptions = {}): Promise<number | undefined> {
    try {
      return await this.#api.request({ ...options, method: 'GET', path: this.#path }, seqOf);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404 && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  /** @throws ApiError `refused` for a name that is not allowed, and when the organization has too many cursors */
  async save(seq: number, options: CursorRequestOptions = {}): Promise<void> {
    await this.#api.request({ ...options, method: 'PUT', path: this.#path, body: JSON.stringify({ seq }) }, seqOf);
  }
}

/** @throws ApiError when the answer is not a cursor */
function seqOf({ body }: ApiAnswer): number {
  const { data } = (body ?? {}) as { readonly data?: { readonly seq?: unknown } };
  if (typeof data?.seq === 'number') return data.seq;
  throw new ApiError('refused', 200, 'unknown', 'the response is not a cursor: check the base url');
}
