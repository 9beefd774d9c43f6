import { printable } from '#libs/api-client';
import { catalogEntry, isEventType, type EventFamily, type LogEvent } from '#libs/domain';

/** How a line is coloured: `always` writes ANSI sequences, `never` plain text. */
export type Colours = 'always' | 'never';

/** The styles use the 16 colours that every terminal has and that users can choose. */
const SGR = {
  dim: 2,
  bold: 1,
  red: 31,
  boldRed: '1;31',
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
  plain: 0,
} as const;
type Style = keyof typeof SGR;

const FAMILY_STYLES: Readonly<Record<EventFamily, Style>> = {
  conversation: 'cyan',
  ticket: 'blue',
  visitor: 'green',
  call_request: 'magenta',
  verification: 'yellow',
  help_desk_content: 'plain',
  operations: 'yellow',
  test: 'dim',
};

/** Alerts stand out: raised, escalated, cleared (contract 7.2). */
const ALERT_STYLES: ReadonlyMap<string, Style> = new Map<string, Style>([
  ['conversation.queued', 'red'],
  ['conversation.queued.escalated', 'boldRed'],
  ['conversation.picked_up', 'green'],
  ['conversation.abandoned', 'green'],
]);

function styleOf(event: string): Style {
  return ALERT_STYLES.get(event) ?? (isEventType(event) ? FAMILY_STYLES[catalogEntry(event).family] : 'plain');
}

/** Returns whether to colour the output: only on a terminal that has colours, and not if `NO_COLOR` is set. */
export function coloursFor(isTerminal: boolean, environment: Readonly<Record<string, string | undefined>>): Colours {
  return isTerminal && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb' ? 'always' : 'never';
}

/** Returns an event as one line: its time, org, seq, type, id and widget. */
export function tailLine(event: LogEvent & { readonly appendedAtMs: number }, colours: Colours): string {
  const paint = (style: Style, text: string) =>
    colours === 'never' || style === 'plain' ? text : `\u001B[${SGR[style]}m${text}\u001B[0m`;
  return [
    paint('dim', new Date(event.appendedAtMs).toISOString()),
    event.orgId,
    paint('bold', `#${event.seq}`),
    paint(styleOf(event.event), event.event),
    event.id,
    ...(event.widgetId === null ? [] : [paint('dim', `widget ${event.widgetId}`)]),
  ].join('  ');
}

/** Returns the envelope as it is; for a terminal, without characters that control it. */
export function envelopeLine({ envelope }: Pick<LogEvent, 'envelope'>, isTerminal: boolean): string {
  const json = envelope.toString();
  // JSON has these between its tokens only.
  return isTerminal ? printable(json.replaceAll(/[\t\r\n]/g, ' ')) : json;
}
