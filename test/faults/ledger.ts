/** An event as it was submitted; `dataJson` is its payload's very text. */
export interface SubmittedEvent {
  readonly id: string;
  readonly orgId: string;
  readonly event: string;
  readonly widgetId: string | null;
  readonly dataJson: string;
}

/** A chat that was handed off to the staff; the alerts that it raises are expected by it. */
export interface SubmittedChat {
  readonly orgId: string;
  /** The event by which it was handed off. */
  readonly handedOff: string;
  /** The event by which somebody answered it at once; `null` if nobody ever does. */
  readonly pickedUp: string | null;
}

/** What the suite itself knows of the events: it submitted them, and some were answered with 202. */
export class Ledger {
  readonly submitted = new Map<string, SubmittedEvent>();
  /** Events that the service has answered for. Whatever happens, they may not be lost from here on. */
  readonly acknowledged = new Set<string>();
  /** Events that a fault itself took away, so that nobody has them any more: they need not be anywhere. */
  readonly removed = new Set<string>();
  /** By the id of the conversation. */
  readonly chats = new Map<string, SubmittedChat>();
  /** When each event was first handed to a connection and when it was answered for, on the monotonic clock, by its id. */
  readonly submittedAt = new Map<string, number>();
  readonly acknowledgedAt = new Map<string, number>();

  submit(events: readonly SubmittedEvent[]): void {
    const now = performance.now();
    for (const event of events) {
      this.submitted.set(event.id, event);
      this.submittedAt.set(event.id, now);
    }
  }

  acknowledge(ids: readonly string[]): void {
    const now = performance.now();
    for (const id of ids) {
      if (this.acknowledged.has(id)) continue;
      this.acknowledged.add(id);
      this.acknowledgedAt.set(id, now);
    }
  }
}
