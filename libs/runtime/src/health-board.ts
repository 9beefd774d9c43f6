/** How a part of this process is doing. */
export type PartHealth = { readonly status: 'ready' } | { readonly status: 'waiting'; readonly reason: string };

/** What `/health/ready` tells: each part reports its own state; all must be ready. */
export class HealthBoard {
  readonly #parts = new Map<string, PartHealth>();

  waiting(part: string, reason: string): void {
    this.#parts.set(part, { status: 'waiting', reason });
  }

  ready(part: string): void {
    this.#parts.set(part, { status: 'ready' });
  }

  /** Says for good that the process is not ready: it ends. */
  ending(): void {
    this.waiting('process', 'stopping');
  }

  /** What is not this process' business any more holds it up no longer. */
  forget(part: string): void {
    this.#parts.delete(part);
  }

  get isReady(): boolean {
    return [...this.#parts.values()].every((part) => part.status === 'ready');
  }

  parts(): Readonly<Record<string, PartHealth>> {
    return Object.fromEntries(this.#parts);
  }
}
