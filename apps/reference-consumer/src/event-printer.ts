import { isExample, type GaplessEvent } from '#libs/consumer';
import { alertText, Alerts } from './alerts.js';
import { eventText, type Arrival } from './event-text.js';

/** Prints events, and their effect on the alerts. */
export class EventPrinter {
  readonly #alerts = new Alerts();

  constructor(private readonly print: (text: string) => void) {}

  handled(event: GaplessEvent, arrival: Arrival): void {
    this.print(eventText(event, arrival));
    const change = isExample(event) ? undefined : this.#alerts.follow(event);
    if (change !== undefined) this.print(alertText(change, this.#alerts.count));
  }
}
