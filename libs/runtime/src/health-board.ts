/** How a part of this process is doing. */
export type PartHealth = { readonly status: 'ready' } | { readonly status: 'waiting'; readonly reason: string };

/** What `/health/ready` shows: each part reports its own state, and all must be ready. */
export class HealthBoard {
  readonly #parts = new Map<string, PartHealth>();

  /** @param onChange called with all parts whenever one of them changes */
  constructor(private readonly onChange: (parts: Readonly<Record<string, PartHealth>>) => void = () => undefined) {}

  waiting(part: string, reason: string): void {
    this.#parts.set(part, { status: 'waiting', reason });
    this.onChange(this.parts());
  }

  ready(part: string): void {
    this.#parts.set(part, { status: 'ready' });
    this.onChange(this.parts());
  }

  /** Says for good that the process is not ready: it ends. */
  ending(): void {
    this.waiting('process', 'stopping');
  }

  /** A part that no longer belongs to this process no longer blocks it. */
  forget(part: string): void {
    this.#parts.delete(part);
    this.onChange(this.parts());
  }

  /** Shows what another board shows, as `<name>/<part>`, in place of what it showed before. */
  include(name: string, parts: Readonly<Record<string, PartHealth>>): void {
    for (const part of this.#parts.keys()) if (part.startsWith(`${name}/`)) this.#parts.delete(part);
    for (const [part, health] of Object.entries(parts)) this.#parts.set(`${name}/${part}`, health);
    this.onChange(this.parts());
  }

  get isReady(): boolean {
    return [...this.#parts.values()].every((part) => part.status === 'ready');
  }

  parts(): Readonly<Record<string, PartHealth>> {
    return Object.fromEntries(this.#parts);
  }
}
