import type { SubmittedChat } from './ledger.js';

/** A record of the staff alerts as any Kafka client reads it. */
export interface StaffAlert {
  readonly conversationId: string;
  readonly stage: number;
  readonly eventId: string;
}

/** By stage: the first threshold, and the second. */
const ALERT_EVENTS = ['conversation.queued', 'conversation.queued.escalated'];

export function isAlertEvent(event: string): boolean {
  return ALERT_EVENTS.includes(event);
}

/** The alert of a conversation that an event of the log is. */
export function alertOf(event: string, conversationId: string): string {
  return nameOf(conversationId, ALERT_EVENTS.indexOf(event) + 1);
}

export function staffAlertOf({ conversationId, stage }: StaffAlert): string {
  return nameOf(conversationId, stage);
}

/**
 * The alerts that chats raise sooner or later, given the ids of the events in the log. `possible` are those of chats whose
 * answer was never acknowledged, and is not in the log.
 */
export function alertsOf(
  chats: ReadonlyMap<string, SubmittedChat>,
  logged: { has(id: string): boolean },
): { readonly expected: ReadonlySet<string>; readonly possible: ReadonlySet<string> } {
  const expected = new Set<string>();
  const possible = new Set<string>();
  for (const [id, { handedOff, pickedUp }] of chats) {
    if (!logged.has(handedOff) || (pickedUp !== null && logged.has(pickedUp))) continue;
    for (const stage of [1, 2]) (pickedUp === null ? expected : possible).add(nameOf(id, stage));
  }
  return { expected, possible };
}

/** Returns the problems of the alerts. Each has to be in the log once, and with the staff once, by the same event. */
export function alertProblems(
  chats: ReadonlyMap<string, SubmittedChat>,
  log: readonly { readonly id: string; readonly event: string; readonly envelope: Buffer }[],
  staffAlerts: readonly StaffAlert[],
): readonly string[] {
  const raised = new Map<string, string[]>();
  for (const { id, event, envelope } of log) {
    if (!isAlertEvent(event)) continue;
    const { data } = JSON.parse(envelope.toString()) as { data: { conversation: { id: string } } };
    add(raised, alertOf(event, data.conversation.id), id);
  }
  const told = new Map<string, string[]>();
  for (const alert of staffAlerts) add(told, staffAlertOf(alert), alert.eventId);
  const { expected, possible } = alertsOf(chats, new Set(log.map(({ id }) => id)));
  return [...new Set([...expected, ...raised.keys(), ...told.keys()])].flatMap((alert) => {
    const [events, toStaff] = [raised.get(alert) ?? [], told.get(alert) ?? []];
    if (events.length !== 1 || toStaff.length !== 1 || events[0] !== toStaff[0]) {
      return [`${alert} is ${events.length} times in the log and ${toStaff.length} times with the staff`];
    }
    return expected.has(alert) || possible.has(alert) ? [] : [`${alert} was raised, and nobody waited`];
  });
}

function nameOf(conversationId: string, stage: number): string {
  return `alert ${stage} of ${conversationId}`;
}

function add(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
