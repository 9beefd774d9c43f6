import type { EventEnvelope, GaplessEvent } from '#libs/consumer';

type Raise = EventEnvelope<'conversation.queued'> | EventEnvelope<'conversation.queued.escalated'>;
type Clear = EventEnvelope<'conversation.picked_up'> | EventEnvelope<'conversation.abandoned'>;

/** A chat that nobody has answered: the seqs of the events that raised its alert and made it urgent. */
interface OpenAlert {
  readonly raisedBy: number | undefined;
  readonly escalatedBy: number | undefined;
}

/** The effect of an event on the alerts. */
export type AlertChange =
  | { readonly kind: 'raised' | 'escalated'; readonly event: Raise }
  /** `alert` is undefined when none was raised, which is normal (contract 7.2). */
  | { readonly kind: 'cleared'; readonly event: Clear; readonly alert: OpenAlert | undefined };

/** The alerts that are open, by conversation (contract 7.2: raise on queued, urgent on escalated, clear on the others). */
export class Alerts {
  readonly #open = new Map<string, OpenAlert>();

  get count(): number {
    return this.#open.size;
  }

  /** Returns the effect of the event; `undefined` if it does not concern alerts. */
  follow(event: GaplessEvent): AlertChange | undefined {
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the others raise and clear nothing
    switch (event.event) {
      case 'conversation.queued':
        this.#update(event, { raisedBy: event.seq });
        return { kind: 'raised', event };
      case 'conversation.queued.escalated':
        this.#update(event, { escalatedBy: event.seq });
        return { kind: 'escalated', event };
      case 'conversation.picked_up':
      case 'conversation.abandoned':
        return { kind: 'cleared', event, alert: this.#clear(event) };
      default:
        return undefined;
    }
  }

  #update({ data }: Raise, change: Partial<OpenAlert>): void {
    const { id } = data.conversation;
    this.#open.set(id, { raisedBy: undefined, escalatedBy: undefined, ...this.#open.get(id), ...change });
  }

  #clear({ data }: Clear): OpenAlert | undefined {
    const { id } = data.conversation;
    const alert = this.#open.get(id);
    this.#open.delete(id);
    return alert;
  }
}

/** Returns one line about the alert. For a clear, it names the events that raised it. */
export function alertText(change: AlertChange, open: number): string {
  const { conversation } = change.event.data;
  const parts = [`${conversation.id} "${conversation.subject}"`, ...details(change), `${open} open`];
  return `${marks(change)}  ${parts.join('  ')}\n`;
}

function marks({ kind }: AlertChange): string {
  switch (kind) {
    case 'raised':
      return '▲  ALERT';
    case 'escalated':
      return '▲▲ URGENT';
    case 'cleared':
      return '▼  CLEAR';
  }
}

function details(change: AlertChange): readonly string[] {
  if (change.kind !== 'cleared') return [`waiting for ${change.event.data.conversation.waited_seconds} s`];
  const { event, alert } = change;
  return [
    event.event === 'conversation.picked_up' ? `picked up by ${event.data.picked_up_by.name}` : 'abandoned',
    ...(alert === undefined ? ['no alert was raised'] : pairText(alert, event.seq)),
  ];
}

function pairText({ raisedBy, escalatedBy }: OpenAlert, clearedBy: number): readonly string[] {
  const steps = [
    ...(raisedBy === undefined ? [] : [`raised by #${raisedBy}`]),
    ...(escalatedBy === undefined ? [] : [`escalated by #${escalatedBy}`]),
    `cleared by #${clearedBy}`,
  ];
  return [steps.join(', ')];
}
