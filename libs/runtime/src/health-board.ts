/** The health of a part of this process. */
export type PartHealth =
  | { readonly status: 'ready' }
  | { readonly status: 'waiting'; readonly reason: string }
  /** A part of the work stands still, and the rest goes on. */
  | { readonly status: 'degraded'; readonly reason: string };

/** The content of `/health/ready`: each part reports its own state, and none may wait. */
export class HealthBoard {
  readonly #parts = new Map<string, PartHealth>();

  /** @param onChange called with all parts when one changes */
  constructor(private readonly onChange: (parts: Readonly<Record<string, PartHealth>>) => void = () => undefined) {}

  waiting(part: string, reason: string): void {
    this.#parts.set(part, { status: 'waiting', reason });
    this.onChange(this.parts());
  }

  /** Shows that some of the work waits. The process stays ready for the rest. */
  degraded(part: string, reason: string): void {
    this.#parts.set(part, { status: 'degraded', reason });
    this.onChange(this.parts());
  }

  ready(part: string): void {
    // Regular work says so each time.
    if (this.#parts.get(part)?.status === 'ready') return;
    this.#parts.set(part, { status: 'ready' });
    this.onChange(this.parts());
  }

  /** Marks the process as not ready for good, because it ends. */
  ending(): void {
    this.waiting('process', 'stopping');
  }

  /** Removes a part that no longer belongs to this process, so that it does not block readiness. */
  forget(part: string): void {
    this.#parts.delete(part);
    this.onChange(this.parts());
  }

  /** Shows the parts of another board as `<name>/<part>`, in place of its earlier ones. */
  include(name: string, parts: Readonly<Record<string, PartHealth>>): void {
    for (const part of this.#parts.keys()) if (part.startsWith(`${name}/`)) this.#parts.delete(part);
    for (const [part, health] of Object.entries(parts)) this.#parts.set(`${name}/${part}`, health);
    this.onChange(this.parts());
  }

  get isReady(): boolean {
    return [...this.#parts.values()].every((part) => part.status !== 'waiting');
  }

  parts(): Readonly<Record<string, PartHealth>> {
    return Object.fromEntries(this.#parts);
  }
}
