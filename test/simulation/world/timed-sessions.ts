import { ConsumerSessions, type ConsumerSession } from '#libs/kafka-log';

/** The sessions of a process, and since when they are what they are. */
export class TimedSessions extends ConsumerSessions {
  readonly #sinceMs = new Map<string, number>();

  constructor(private readonly nowMs: () => number) {
    super();
  }

  override joined(group: string, session: ConsumerSession): void {
    this.#sinceMs.set(group, this.nowMs());
    super.joined(group, session);
  }

  override left(group: string): void {
    this.#sinceMs.set(group, this.nowMs());
    super.left(group);
  }

  /** Whether the process has known since that time that the partition is not its own. */
  hasLost(group: string, topic: string, partition: number, sinceMs: number): boolean {
    const session = this.of(group);
    // Without a session it does not know whose the partition is.
    if (session === undefined || (this.#sinceMs.get(group) ?? Infinity) > sinceMs) return false;
    return session.assigned[topic]?.includes(partition) !== true;
  }
}
