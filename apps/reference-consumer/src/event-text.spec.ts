import { describe, expect, it } from '@jest/globals';
import type { GaplessEvent } from '#libs/consumer';
import { eventText } from './event-text.js';

const JSON_TEXT =
  '{"id":"evt_1","seq":12,"event":"ticket.created","occurred_at":"2026-03-02T09:12:44.000Z","org_id":"o","widget_id":null,' +
  '"data":{"n":1.0,"s":"a\\u00e9","none":[],"list":[{"a":null}, 2]}}';
const EVENT = JSON.parse(JSON_TEXT) as GaplessEvent;

describe('the text of an event', () => {
  it('says how it came, and shows a push as it was sent except for the layout', () => {
    const push = { body: Buffer.from(JSON_TEXT), deliveryId: 'whd_1', attempt: 2 };
    const [line, ...body] = eventText(EVENT, { kind: 'pushed', push, status: 200 }).trimEnd().split('\n');
    expect(line).toBe('#12  ticket.created  evt_1  attempt 2  signature verified ✓  answered 200');
    const pretty = body.join('\n');
    // 1.0 is still 1.0.
    expect(pretty.replaceAll(/\s/g, '')).toBe(JSON_TEXT.replaceAll(/\s/g, ''));
    expect(pretty).toBe(
      JSON.stringify(EVENT, null, 2).replace('"n": 1,', '"n": 1.0,').replace('é', '\\u00e9').replaceAll(/^/gm, '    '),
    );
  });

  it('is that of the event alone, though all events of a batch have the same body', () => {
    const others = [11, 13].map((seq) => JSON.stringify({ ...EVENT, id: `evt_${seq}`, seq }));
    const body = Buffer.from(`{"events": [${[others[0], JSON_TEXT, others[1]].join(', ')}]}`);
    const push = { body, deliveryId: 'whd_1', attempt: 1 };
    const [, ...lines] = eventText(EVENT, { kind: 'pushed', push, status: 200 }).trimEnd().split('\n');
    expect(lines.join('').replaceAll(/\s/g, '')).toBe(JSON_TEXT.replaceAll(/\s/g, ''));
  });

  it.each(['pushed', 'read'] as const)('has nothing that controls a terminal if the event was %s', (kind) => {
    const json = JSON_TEXT.replaceAll('"a', '"a\u009b2J\u007f').replace('[]', '[\r]');
    const push = { body: Buffer.from(json), deliveryId: 'whd_1', attempt: 1 };
    const arrival = kind === 'read' ? { kind } : { kind, push, status: 200 };
    const text = eventText(JSON.parse(json) as GaplessEvent, arrival);
    expect(text).toContain('"s": "a�2J�');
    expect(text).toContain('"a�2J�": null');
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Control}/u);
  });

  it('says that an event without a push was read from the feed', () => {
    const [line, ...body] = eventText(EVENT, { kind: 'read' }).trimEnd().split('\n');
    expect(line).toBe('#12  ticket.created  evt_1  read from the feed');
    expect(JSON.parse(body.join('\n'))).toEqual(EVENT);
  });
});
