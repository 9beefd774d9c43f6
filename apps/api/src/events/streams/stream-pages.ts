import { Injectable } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import type { FeedQuery } from '#libs/postgres';
import { pageName, SharedReads } from '../shared-reads.js';
import { StreamRoom, type StreamPage } from './stream-room.js';

/** A stream holds one page in memory until its client has read nearly all of it, so its pages are small. */
const STREAM_PAGE_BYTES = 128 * 1024;

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
    const name = pageName(orgId, bounded);
    for (let bytes = STREAM_PAGE_BYTES; ;) {
      const shared = this.room.holdShared(key, name);
      if (typeof shared === 'object') return shared;
      bytes = shared ?? bytes;
      await this.room.wait(key, bytes, signal);
      if (signal.aborted) {
        return { isEmpty: true, nextSeq: null, oldestSeq: query.since, headSeq: query.since, held: null };
      }
      if (shared !== undefined) continue;
      const read = this.room.hold(key, name, await this.reads.page(orgId, bounded, signal, Infinity));
      if (typeof read === 'object') return read;
      bytes = read;
    }
  }
}
