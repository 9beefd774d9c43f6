import { Inject, Injectable } from '@nestjs/common';
import type { FeedPage } from '#libs/postgres';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { FairRoom } from '../../http/fair-room.js';
import { feedPageStream } from '../feed-page.presenter.js';

/** How long other streams get a page that one holds, milliseconds. A slow client may hold it past the retention of its events. */
const SHARED_FOR_MS = 5_000;

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

/** A page that streams hold. */
interface Shared {
  readonly page: Omit<StreamPage, 'held'>;
  readonly text: Buffer;
  readonly heldSinceMs: number;
  /** Called when the last of them has released it. */
  readonly end: () => void;
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
  /** The pages that are held and that later events do not change, by what was asked for. */
  readonly #complete = new Map<string, Shared>();
  readonly #waiting = new Set<Waiting>();

  constructor(@Inject(CONFIG) config: Pick<Config, 'streamMemoryBytes'>) {
    this.#room = new FairRoom(config.streamMemoryBytes);
  }

  /**
   * @param name what the page answers, including the organization
   * @returns the held page, or its size in bytes if there is no room for it now
   */
  hold(key: string, name: string, page: FeedPage): StreamPage | number {
    const other = this.#shared.get(page);
    if (other !== undefined && other.holders > 0) return held(other);
    const { isEmpty, nextSeq, oldestSeq, headSeq } = page;
    const place = { isEmpty, nextSeq, oldestSeq, headSeq };
    if (isEmpty) return { ...place, held: null };
    const text = feedPageStream(page);
    if (!this.#fits(key, text.length)) return text.length;
    // It must not name the page, whose text would be kept, too.
    const end = () => {
      if (this.#complete.get(name) === shared) this.#complete.delete(name);
      this.#room.add(key, -text.length);
      this.#wakeFitting();
    };
    const shared: Shared = { page: place, text, heldSinceMs: performance.now(), end, holders: 0 };
    this.#room.add(key, text.length);
    this.#shared.set(page, shared);
    if (nextSeq !== null) this.#complete.set(name, shared);
    return held(shared);
  }

  /** Returns the page if other streams hold it already. */
  heldByOthers(name: string): StreamPage | undefined {
    const shared = this.#complete.get(name);
    if (shared === undefined || performance.now() - shared.heldSinceMs > SHARED_FOR_MS) return undefined;
    return held(shared);
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

function held(shared: Shared): StreamPage {
  shared.holders++;
  const release = () => {
    if (--shared.holders === 0) shared.end();
  };
  return { ...shared.page, held: { text: shared.text, release } };
}
