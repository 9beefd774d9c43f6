import { Injectable } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import type { FeedPage, FeedQuery } from '#libs/postgres';
import { SharedReads } from './shared-reads.js';
import { StreamRoom, type HeldText } from './stream-room.js';

/** A stream holds one page in memory until its client has read nearly all of it, so its pages are small. */
const STREAM_PAGE_BYTES = 128 * 1024;

/** A page without its text, which is in `held`. */
export interface StreamPage extends Pick<FeedPage, 'isEmpty' | 'nextSeq' | 'oldestSeq' | 'headSeq'> {
  readonly held: HeldText | null;
}

/** Reads the pages of streams, which share the memory for them. */
@Injectable()
export class StreamPages {
  constructor(
    private readonly reads: SharedReads,
    private readonly room: StreamRoom,
  ) {}

  /**
   * Reads the page when there is room for it. While a stream waits for room, it holds nothing. Once the signal is
   * aborted, it returns an empty page.
   */
  async read(orgId: OrgId, key: string, query: FeedQuery, signal: AbortSignal): Promise<StreamPage> {
    const bounded = { ...query, maxBytes: STREAM_PAGE_BYTES };
    for (let bytes = STREAM_PAGE_BYTES; ;) {
      await this.room.wait(key, bytes, signal);
      if (signal.aborted) {
        return { isEmpty: true, nextSeq: null, oldestSeq: query.since, headSeq: query.since, held: null };
      }
      const read = await this.#readIfRoom(orgId, key, bounded);
      if (typeof read !== 'number') return read;
      bytes = read;
    }
  }

  /** @returns the page, or its size in bytes if there is no room for it */
  async #readIfRoom(orgId: OrgId, key: string, query: FeedQuery): Promise<StreamPage | number> {
    const page = await this.reads.page(orgId, query);
    const { isEmpty, nextSeq, oldestSeq, headSeq } = page;
    const held = isEmpty ? null : this.room.hold(key, page);
    return typeof held === 'number' ? held : { isEmpty, nextSeq, oldestSeq, headSeq, held };
  }
}
