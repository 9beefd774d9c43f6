/** Those of all kinds. */
const all: { clear(): void }[] = [];

/** What listens to the consumer groups of this thread. */
export class GroupListeners<Listener> {
  readonly #byGroup = new Map<string, Set<Listener>>();

  constructor() {
    all.push(this);
  }

  /** @returns a function that removes the listener */
  add(groupId: string, listener: Listener): () => void {
    const known = this.#byGroup.get(groupId) ?? new Set();
    this.#byGroup.set(groupId, known.add(listener));
    return () => {
      known.delete(listener);
      // Each reader has a group of its own.
      if (known.size === 0 && this.#byGroup.get(groupId) === known) this.#byGroup.delete(groupId);
    };
  }

  /** Returns the listeners that the group has now. */
  of(groupId: string): readonly Listener[] {
    return [...(this.#byGroup.get(groupId) ?? [])];
  }

  clear(): void {
    this.#byGroup.clear();
  }
}

/** Removes all listeners. For simulations, where a killed process does not remove its own. */
export function forgetListeners(): void {
  for (const listeners of all) listeners.clear();
}
