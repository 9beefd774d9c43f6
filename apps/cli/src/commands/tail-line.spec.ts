import { describe, expect, it } from '@jest/globals';
import { parseEventId, parseOrgId, parseWidgetId, type Seq } from '#libs/domain';
import { coloursFor, envelopeLine, tailLine } from './tail-line.js';

const EVENT = {
  orgId: parseOrgId('0f8fad5b-d9cb-469f-a165-70867728950e')!,
  seq: 4128 as Seq,
  id: parseEventId('evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG')!,
  event: 'conversation.queued',
  widgetId: parseWidgetId('7c9e6679-7425-40de-944b-e07fc1f90ae7')!,
  targetEndpoint: null,
  traceparent: null,
  envelope: Buffer.from('{}'),
  appendedAtMs: Date.UTC(2026, 2, 1, 12),
};
const ESCAPE = '\u001B';

describe('a line of tail', () => {
  it('shows the time, organization, seq, type, id and widget of an event', () => {
    expect(tailLine(EVENT, 'never')).toBe(
      '2026-03-01T12:00:00.000Z  0f8fad5b-d9cb-469f-a165-70867728950e  #4128  conversation.queued' +
        '  evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG  widget 7c9e6679-7425-40de-944b-e07fc1f90ae7',
    );
    expect(tailLine({ ...EVENT, widgetId: null }, 'never')).not.toContain('widget');
  });

  it('is the same text in colour', () => {
    const coloured = tailLine(EVENT, 'always');
    expect(coloured.replaceAll(new RegExp(`${ESCAPE}\\[[\\d;]+m`, 'g'), '')).toBe(tailLine(EVENT, 'never'));
  });

  it.each([
    ['conversation.queued', '31'],
    ['conversation.queued.escalated', '1;31'],
    ['conversation.picked_up', '32'],
    ['conversation.abandoned', '32'],
    ['ticket.created', '34'],
  ])('shows %s in the colour %s', (event, code) => {
    expect(tailLine({ ...EVENT, event }, 'always')).toContain(`${ESCAPE}[${code}m${event}${ESCAPE}[0m`);
  });

  it('shows a type that it does not know as it is', () => {
    expect(tailLine({ ...EVENT, event: 'moon.rose' }, 'always')).toContain('  moon.rose  ');
  });
});

describe('an envelope', () => {
  it('is printed as it is, and to a terminal without what controls it', () => {
    const json = '{"t":\n\t"\u009b2J\u007f\\u001b"}';
    const event = { envelope: Buffer.from(json) };
    expect(envelopeLine(event, false)).toBe(json);
    expect(envelopeLine(event, true)).toBe('{"t":  "�2J�\\u001b"}');
  });
});

describe('colours', () => {
  it.each([
    [true, {}, 'always'],
    [true, { NO_COLOR: '' }, 'always'],
    [true, { NO_COLOR: '1' }, 'never'],
    [true, { NO_COLOR: '0' }, 'never'],
    [true, { TERM: 'dumb' }, 'never'],
    [false, {}, 'never'],
  ] as const)('on a terminal: %s, with %j: %s', (isTerminal, environment, expected) => {
    expect(coloursFor(isTerminal, environment)).toBe(expected);
  });
});
