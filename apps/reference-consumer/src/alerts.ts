import { printable } from '#libs/api-client';
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
  /** `late`: the chat was answered before the raise arrived, so it changes nothing (contract 7.2). */
  | { readonly kind: 'raised' | 'escalated' | 'late'; readonly event: Raise }
  /** `alert` is undefined when none was raised, which is normal (contract 7.2). */
  | { readonly kind: 'cleared'; readonly event: Clear; readonly alert: OpenAlert | undefined };

/** How many clears are remembered. A raise that follows its clear comes within moments of it. */
const REMEMBERED_CLEARS = 1_000;

/** The alerts that are open, by conversation (contract 7.2: raise on queued, urgent on escalated, clear on the others). */
export class Alerts {
  readonly #open = new Map<string, OpenAlert>();
  /** When conversations were last cleared, epoch milliseconds; the latest come last. */
  readonly #cleared = new Map<string, number>();

  get count(): number {
    return this.#open.size;
  }

  /** Returns the effect of the event; `undefined` if it does not concern alerts. */
  follow(event: GaplessEvent): AlertChange | undefined {
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the others raise and clear nothing
    switch (event.event) {
      case 'conversation.queued':
        return this.#raise(event, 'raised', { raisedBy: event.seq });
      case 'conversation.queued.escalated':
        return this.#raise(event, 'escalated', { escalatedBy: event.seq });
      case 'conversation.picked_up':
      case 'conversation.abandoned':
        return { kind: 'cleared', event, alert: this.#clear(event) };
      default:
        return undefined;
    }
  }

  #raise(event: Raise, kind: 'raised' | 'escalated', change: Partial<OpenAlert>): AlertChange {
    const { id } = event.data.conversation;
    if (Date.parse(event.occurred_at) < (this.#cleared.get(id) ?? -Infinity)) return { kind: 'late', event };
    this.#open.set(id, { raisedBy: undefined, escalatedBy: undefined, ...this.#open.get(id), ...change });
    return { kind, event };
  }

  #clear({ data, occurred_at: occurredAt }: Clear): OpenAlert | undefined {
    const { id } = data.conversation;
    const alert = this.#open.get(id);
    this.#open.delete(id);
    this.#cleared.delete(id);
    this.#cleared.set(id, Date.parse(occurredAt));
    const [oldest] = this.#cleared.keys();
    if (this.#cleared.size > REMEMBERED_CLEARS && oldest !== undefined) this.#cleared.delete(oldest);
    return alert;
  }
}

/** Returns one line about the alert. For a clear, it names the events that raised it. */
export function alertText(change: AlertChange, open: number): string {
  const { conversation } = change.event.data;
  const parts = [`${conversation.id} "${conversation.subject}"`, ...details(change), `${open} open`];
  // Visitors and agents choose these texts.
  return `${printable(`${marks(change)}  ${parts.join('  ')}`)}\n`;
}

function marks({ kind }: AlertChange): string {
  switch (kind) {
    case 'raised':
      return '▲  ALERT';
    case 'escalated':
      return '▲▲ URGENT';
    case 'cleared':
      return '▼  CLEAR';
    case 'late':
      return '–  LATE';
  }
}

function details(change: AlertChange): readonly string[] {
  if (change.kind === 'late') return ['raised before its last clear'];
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
