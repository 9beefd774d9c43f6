import type { FastifyRequest } from 'fastify';
import '../auth/authenticated-key.js';
import '../portal/portal-sessions.js';

/** Whose share a request takes room of: that of its organization, its portal or its service key; `null` without a key. */
export function sharerOf({ apiKey, portal }: FastifyRequest): string | null {
  if (apiKey === null) return null;
  // An organization can have many keys.
  return portal === null ? (apiKey.orgId ?? apiKey.quota) : apiKey.quota;
}

/**
 * Shares room for bytes among callers. Each may hold half of what the others leave, so the next caller always finds
 * room.
 */
export class FairRoom {
  readonly #byCaller = new Map<string, number>();
  #total = 0;

  constructor(private readonly maxBytes: number) {}

  /** How many bytes the caller holds. */
  held(caller: string): number {
    return this.#byCaller.get(caller) ?? 0;
  }

  /** How many bytes the caller may hold now. */
  allowed(caller: string): number {
    return Math.floor((this.maxBytes - (this.#total - this.held(caller))) / 2);
  }

  /** @param bytes negative to release them */
  add(caller: string, bytes: number): void {
    this.#total += bytes;
    const held = this.held(caller) + bytes;
    if (held === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, held);
  }
}
