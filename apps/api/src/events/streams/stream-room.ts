import { Inject, Injectable } from '@nestjs/common';
import type { FeedPage } from '#libs/postgres';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { FairRoom } from '../../http/fair-room.js';
import { feedPageStream } from '../feed-page.presenter.js';

/** How long other streams get a page that has been read, milliseconds. A slow client may hold it past the retention of its events. */
const SHARED_FOR_MS = 5_000;
/** The most that pages without a holder take meanwhile. A slow stream takes its first pages at once, and the next one asks for the same. */
const RECENT_BYTES = 4 * 1024 ** 2;

/** A page as its stream sends it. It takes up room until it is released. */
export interface HeldText {
  readonly text: Buffer;
  /** Call this once. */
  readonly release: () => void;
}

/** A page without its text, which is in `held`. */
export interface StreamPage extends Pick<FeedPage, 'isEmpty' | 'nextSeq' | 'oldestSeq' | 'headSeq'> {
  readonly held: HeldText | null;
}

/** A page that streams share. */
interface Shared {
  readonly name: string;
  readonly page: Omit<StreamPage, 'held'>;
  readonly text: Buffer;
  readonly readMs: number;
  /** Whose room it takes, while a stream holds it. */
  key: string;
  holders: number;
}

interface Waiting {
  readonly key: string;
  readonly bytes: number;
  readonly wake: () => void;
}

/**
 * Limits the memory of pages that streams hold for slow clients, for each key and in total. Streams at the same place
 * hold one page, which is read once. A key that holds no page may always hold one.
 */
@Injectable()
export class StreamRoom {
  readonly #room: FairRoom;
  readonly #shared = new WeakMap<FeedPage, Shared>();
  /** The pages that later events do not change, by what was asked for. */
  readonly #complete = new Map<string, Shared>();
  /** Those of them that no stream holds, the least recent first. */
  readonly #recent = new Set<Shared>();
  #recentBytes = 0;
  #willForget = false;
  readonly #waiting = new Set<Waiting>();

  constructor(@Inject(CONFIG) config: Pick<Config, 'streamMemoryBytes'>) {
    this.#room = new FairRoom(config.streamMemoryBytes);
  }

  /**
   * @param name what the page answers, including the organization
   * @returns the held page, or its size in bytes if there is no room for it now
   */
  hold(key: string, name: string, page: FeedPage): StreamPage | number {
    const { isEmpty, nextSeq, oldestSeq, headSeq } = page;
    const place = { isEmpty, nextSeq, oldestSeq, headSeq };
    if (isEmpty) return { ...place, held: null };
    const other = this.#shared.get(page);
    if (other !== undefined) return this.#held(key, other);
    const text = feedPageStream(page);
    // It must not name the page, whose text would be kept, too.
    const shared: Shared = { name, page: place, text, readMs: performance.now(), key, holders: 0 };
    const held = this.#held(key, shared);
    if (typeof held === 'number') return held;
    this.#shared.set(page, shared);
    if (nextSeq !== null) this.#complete.set(name, shared);
    return held;
  }

  /** Returns the page if it has just been read for another stream; its size in bytes if there is no room for it now. */
  holdShared(key: string, name: string): StreamPage | number | undefined {
    const shared = this.#complete.get(name);
    if (shared === undefined || isOld(shared)) return undefined;
    return this.#held(key, shared);
  }

  /** Resolves once there may be room for this many bytes, or the signal is aborted. */
  async wait(key: string, bytes: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#fits(key, bytes)) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#waiting.delete(waiting);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const waiting: Waiting = { key, bytes, wake };
      this.#waiting.add(waiting);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  #held(key: string, shared: Shared): StreamPage | number {
    const { text, page } = shared;
    if (shared.holders === 0) {
      if (!this.#fits(key, text.length)) return text.length;
      this.#room.add(key, text.length);
      shared.key = key;
      if (this.#recent.delete(shared)) this.#recentBytes -= text.length;
    }
    shared.holders++;
    const release = () => {
      if (--shared.holders === 0) this.#end(shared);
    };
    return { ...page, held: { text, release } };
  }

  /** The last stream that held it has released it. */
  #end(shared: Shared): void {
    this.#room.add(shared.key, -shared.text.length);
    if (this.#complete.get(shared.name) === shared) {
      this.#recent.add(shared);
      this.#recentBytes += shared.text.length;
      this.#forget();
    }
    this.#wakeFitting();
  }

  /** Forgets pages that no stream holds: those that are old, and the least recent if they are too many. */
  #forget(): void {
    for (const shared of this.#recent) {
      if (!isOld(shared) && this.#recentBytes <= RECENT_BYTES) continue;
      this.#recent.delete(shared);
      this.#recentBytes -= shared.text.length;
      if (this.#complete.get(shared.name) === shared) this.#complete.delete(shared.name);
    }
    if (this.#recent.size === 0 || this.#willForget) return;
    this.#willForget = true;
    setTimeout(() => {
      this.#willForget = false;
      this.#forget();
    }, SHARED_FOR_MS).unref();
  }

  #fits(key: string, bytes: number): boolean {
    const held = this.#room.held(key);
    return held === 0 || held + bytes <= this.#room.allowed(key);
  }

  /** Wakes only the streams that there is room for, because each has to read its page again. */
  #wakeFitting(): void {
    const woken = new Map<string, number>();
    for (const { key, bytes, wake } of this.#waiting) {
      const before = woken.get(key) ?? 0;
      if (before === 0 ? !this.#fits(key, bytes) : !this.#fits(key, before + bytes)) continue;
      woken.set(key, before + bytes);
      wake();
    }
  }
}

function isOld({ readMs }: Shared): boolean {
  return performance.now() - readMs >= SHARED_FOR_MS;
}
