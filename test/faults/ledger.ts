/** An event as it was submitted; `dataJson` is its payload's very text. */
export interface SubmittedEvent {
  readonly id: string;
  readonly orgId: string;
  readonly event: string;
  readonly widgetId: string | null;
  readonly dataJson: string;
}

/** What the suite itself knows of the events: it submitted them, and it was told 202 for some. */
export class Ledger {
  readonly submitted = new Map<string, SubmittedEvent>();
  /** Events that the service has answered for. Whatever happens, they may not be lost from here on. */
  readonly acknowledged = new Set<string>();

  submit(events: readonly SubmittedEvent[]): void {
    for (const event of events) this.submitted.set(event.id, event);
  }

  acknowledge(ids: readonly string[]): void {
    for (const id of ids) this.acknowledged.add(id);
  }
}
