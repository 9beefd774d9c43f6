import { Inject, Injectable } from '@nestjs/common';
import type { FeedPage } from '#libs/postgres';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { FairRoom } from '../http/fair-room.js';
import { feedPageStream } from './feed-page.presenter.js';

/** A page as its stream sends it. It takes up room until it is released. */
export interface HeldText {
  readonly text: Buffer;
  /** Call this once. */
  readonly release: () => void;
}

interface Shared {
  readonly text: Buffer;
  holders: number;
}

interface Waiting {
  readonly key: string;
  readonly bytes: number;
  readonly wake: () => void;
}

/**
 * Limits the memory of pages that streams hold for slow clients, for each key and in total. Streams that share a page
 * hold it once. A key that holds no page may always hold one.
 */
@Injectable()
export class StreamRoom {
  readonly #room: FairRoom;
  readonly #shared = new WeakMap<FeedPage, Shared>();
  readonly #waiting = new Set<Waiting>();

  constructor(@Inject(CONFIG) config: Pick<Config, 'streamMemoryBytes'>) {
    this.#room = new FairRoom(config.streamMemoryBytes);
  }

  /** @returns the held page, or its size in bytes if there is no room for it now */
  hold(key: string, page: FeedPage): HeldText | number {
    const shared = this.#shared.get(page) ?? { text: feedPageStream(page), holders: 0 };
    const bytes = shared.text.length;
    if (shared.holders === 0) {
      if (!this.#fits(key, bytes)) return bytes;
      this.#room.add(key, bytes);
      this.#shared.set(page, shared);
    }
    shared.holders++;
    return {
      text: shared.text,
      release: () => {
        if (--shared.holders > 0) return;
        this.#shared.delete(page);
        this.#room.add(key, -bytes);
        this.#wakeFitting();
      },
    };
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
