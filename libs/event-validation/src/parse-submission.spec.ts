import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { catalogEntry, GaplessError, isIngestable, EVENT_TYPES, type OrgId } from '#libs/domain';
import {
  INGEST_LIMITS,
  parseSubmission,
  SubmissionParser,
  submissionSteps,
  type SubmissionContext,
} from './parse-submission.js';

const ORG = '0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21' as OrgId;
const OTHER_ORG = 'aaaaaaaa-6a1e-4d27-9a45-3f0f8c1d7e21' as OrgId;
const WIDGET = '5b2f7c10-93d4-4c6e-8a11-d2c9b7e0f634';
const ID = 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG';
const NOW = Date.parse('2026-03-02T09:14:05.678Z');
const DAY_MS = 24 * 60 * 60 * 1000;

const orgKey: SubmissionContext = { orgOfKey: ORG, nowMs: NOW, limits: INGEST_LIMITS };
const serviceKey: SubmissionContext = { ...orgKey, orgOfKey: null };

type Members = Record<string, unknown>;

const anEvent = (members: Members = {}): Members => ({ event: 'ticket.created', data: { id: 'tkt_1' }, ...members });

function parse(body: unknown, context = orgKey) {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return parseSubmission(bytes, context);
}

const parseOne = (members: Members, context = orgKey) => parse({ events: [anEvent(members)] }, context)[0];

/** The error, with its problems as pointer and code. */
function refusalOf(body: unknown, context = orgKey) {
  try {
    parse(body, context);
  } catch (error) {
    if (error instanceof GaplessError) {
      return { code: error.code, problems: error.problems.map(({ pointer, code }) => [pointer, code]) };
    }
    throw error;
  }
  return 'accepted';
}

const invalid = (...problems: readonly [string, string][]) => ({ code: 'validation_failed', problems });

describe('an accepted submission', () => {
  it('gives the events in their order', () => {
    const events = [anEvent({ id: ID, widget_id: WIDGET, occurred_at: '2026-03-01T10:00:00+02:00' }), anEvent()];
    expect(parse({ events })).toEqual([
      {
        id: ID,
        event: 'ticket.created',
        occurredAt: '2026-03-01T08:00:00.000Z',
        orgId: ORG,
        widgetId: WIDGET,
        dataJson: '{"id":"tkt_1"}',
      },
      {
        id: null,
        event: 'ticket.created',
        occurredAt: '2026-03-02T09:14:05.678Z',
        orgId: ORG,
        widgetId: null,
        dataJson: '{"id":"tkt_1"}',
      },
    ]);
  });

  it.each(EVENT_TYPES.filter((type) => isIngestable(type)))('takes the catalog example of %s', (type) => {
    const { example } = catalogEntry(type);
    expect(parseOne({ event: type, data: example })?.dataJson).toBe(JSON.stringify(example));
  });

  it('keeps the payload as it was sent: spaces, order, numbers and escapes', () => {
    const data = '{ "b" : 1.0,\n"a":[12345678901234567890.10, 1E2, -0],"c":"\\u00e9\\ud800 \\/ é","__proto__":{} }';
    const body = `\n{ "events" : [ {"data" : ${data} , "event":"ticket.created"} ] }\t`;
    expect(parse(body)[0]?.dataJson).toBe(data);
  });

  it('keeps the payload of each of 500 events', () => {
    const events = Array.from({ length: 500 }, (_, n) => anEvent({ data: { n } }));
    expect(parse({ events }).map((event) => event.dataJson)).toEqual(events.map((_, n) => `{"n":${n}}`));
  });

  it('takes the last of members of the same name, in its checks and in what it keeps', () => {
    const body = '{"events":[1],"events":[{"event":"nope","event":"ticket.created","data":7,"d\\u0061ta":{"a":1}}]}';
    expect(parse(body)[0]?.dataJson).toBe('{"a":1}');
    expect(refusalOf('{"events":[{"event":"ticket.created","data":{},"data":7}]}')).toEqual(
      invalid(['#/events/0/data', 'wrong_type']),
    );
  });

  it('takes one id twice: the second is a repeat', () => {
    const events = [anEvent({ id: ID, data: { n: 1 } }), anEvent({ id: ID, data: { n: 2 } })];
    expect(parse({ events }).map((event) => event.id)).toEqual([ID, ID]);
  });

  it('writes UUIDs in lower case', () => {
    const event = parseOne({ org_id: ORG.toUpperCase(), widget_id: WIDGET.toUpperCase() });
    expect(event).toMatchObject({ orgId: ORG, widgetId: WIDGET });
  });

  it('takes an org key that names its own organization, and a service key that names any', () => {
    expect(parseOne({ org_id: ORG })?.orgId).toBe(ORG);
    expect(parseOne({ org_id: OTHER_ORG }, serviceKey)?.orgId).toBe(OTHER_ORG);
  });

  it('takes occurred_at up to 24 hours ahead', () => {
    const ahead = new Date(NOW + DAY_MS).toISOString();
    expect(parseOne({ occurred_at: ahead })?.occurredAt).toBe(ahead);
  });

  it.each(['help_article.created', 'verification.approved', 'fraud.flagged'])('%s: takes widget_id null', (event) => {
    expect(parseOne({ event, widget_id: null })?.widgetId).toBeNull();
  });
});

describe('a body that cannot be read', () => {
  it.each([
    ['nothing', ''],
    ['no JSON', '{"events":'],
    ['two documents', '{}{}'],
    ['a trailing comma', '{"events":[],}'],
    ['NaN', '{"events":NaN}'],
    ['a byte order mark', '\ufeff{"events":[]}'],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['UTF-16', Buffer.from('{"events":[]}', 'utf16le')],
  ])('is malformed_request: %s', (_case, body) => {
    expect(refusalOf(body)).toEqual({ code: 'malformed_request', problems: [] });
  });

  it.each(['[]', 'null', '1', '"x"', 'true'])('is validation_failed when it is not an object: %s', (body) => {
    expect(refusalOf(body)).toEqual(invalid(['#', 'wrong_type']));
  });

  it.each([
    ['{}', [['#/events', 'required']]],
    ['{"events":null}', [['#/events', 'wrong_type']]],
    ['{"events":{}}', [['#/events', 'wrong_type']]],
    ['{"events":[]}', [['#/events', 'out_of_range']]],
    [
      '{"events":[],"more":1,"a/b ~":2,"__proto__":3}',
      [
        ['#/more', 'unknown_member'],
        ['#/a~1b%20~0', 'unknown_member'],
        ['#/__proto__', 'unknown_member'],
        ['#/events', 'out_of_range'],
      ],
    ],
  ])('is validation_failed: %s', (body, problems) => {
    expect(refusalOf(body)).toEqual({ code: 'validation_failed', problems });
  });
});

describe('a refused event', () => {
  it.each<[string, Members, string, string]>([
    ['no event', { event: undefined }, 'event', 'required'],
    ['an event that is no string', { event: 7 }, 'event', 'wrong_type'],
    ['no data', { data: undefined }, 'data', 'required'],
    ['data null', { data: null }, 'data', 'wrong_type'],
    ['data that is an array', { data: [] }, 'data', 'wrong_type'],
    ['data that is a string', { data: '{}' }, 'data', 'wrong_type'],
    ['an id that is no string', { id: 1 }, 'id', 'wrong_type'],
    ['id null', { id: null }, 'id', 'wrong_type'],
    ['an id without prefix', { id: ID.slice(4) }, 'id', 'invalid_format'],
    ['an id of another kind', { id: ID.replace('evt', 'whd') }, 'id', 'invalid_format'],
    ['an id of 15 characters', { id: `evt_${'a'.repeat(15)}` }, 'id', 'invalid_format'],
    ['an id of 65 characters', { id: `evt_${'a'.repeat(65)}` }, 'id', 'invalid_format'],
    ['an id with other characters', { id: `${ID}-` }, 'id', 'invalid_format'],
    ['an id and a line feed', { id: `${ID}\n` }, 'id', 'invalid_format'],
    ['occurred_at in seconds', { occurred_at: 1772442845 }, 'occurred_at', 'wrong_type'],
    ['occurred_at null', { occurred_at: null }, 'occurred_at', 'wrong_type'],
    ['occurred_at without offset', { occurred_at: '2026-03-02T09:14:05' }, 'occurred_at', 'invalid_format'],
    ['no such day', { occurred_at: '2026-02-30T00:00:00Z' }, 'occurred_at', 'invalid_format'],
    [
      'more than 24 hours ahead',
      { occurred_at: new Date(NOW + DAY_MS + 1).toISOString() },
      'occurred_at',
      'out_of_range',
    ],
    ['org_id null', { org_id: null }, 'org_id', 'wrong_type'],
    ['org_id that is no UUID', { org_id: 'acme' }, 'org_id', 'invalid_format'],
    ['widget_id that is no string', { widget_id: 5 }, 'widget_id', 'wrong_type'],
    ['widget_id that is no UUID', { widget_id: 'shop' }, 'widget_id', 'invalid_format'],
    ['an empty widget_id', { widget_id: '' }, 'widget_id', 'invalid_format'],
    ['a seq', { seq: 1 }, 'seq', 'unknown_member'],
    ['a member of another case', { Data: {} }, 'Data', 'unknown_member'],
    ['a member named constructor', { constructor: 1 }, 'constructor', 'unknown_member'],
    ['help desk content of a widget', { event: 'help_center.updated', widget_id: WIDGET }, 'widget_id', 'not_allowed'],
    ['a verification of a widget', { event: 'verification.created', widget_id: WIDGET }, 'widget_id', 'not_allowed'],
    ['fraud of a widget', { event: 'fraud.flagged', widget_id: WIDGET }, 'widget_id', 'not_allowed'],
  ])('is validation_failed at its place: %s', (_case, members, member, code) => {
    expect(refusalOf({ events: [anEvent(), anEvent(members)] })).toEqual(invalid([`#/events/1/${member}`, code]));
  });

  it.each([null, [], 'x', 1])('is validation_failed when it is not an object: %j', (event) => {
    expect(refusalOf({ events: [anEvent(), event] })).toEqual(invalid(['#/events/1', 'wrong_type']));
  });

  it.each(['evt_EXAMPLE01K2Z8Q4T7WJ5M3N9R6XBCDEFG', 'evt_OPERATIONAL01K2Z8Q4T7WJ5M3N9R6XBCDEFG'])(
    'is validation_failed with an id that only Gapless gives: %s',
    (id) => {
      expect(refusalOf({ events: [anEvent({ id })] })).toEqual(invalid(['#/events/0/id', 'not_allowed']));
    },
  );

  it('is validation_failed when a service key names no organization', () => {
    expect(refusalOf({ events: [anEvent()] }, serviceKey)).toEqual(invalid(['#/events/0/org_id', 'required']));
  });

  it('is validation_failed when data does not fit its type, with the place in data', () => {
    const { conversation, ...rest } = catalogEntry('conversation.queued').example as Members;
    const data = { ...rest, conversation: { ...(conversation as Members), id: 1 }, stage: undefined };
    expect(refusalOf({ events: [anEvent(), anEvent({ event: 'conversation.queued', data })] })).toEqual(
      invalid(['#/events/1/data/stage', 'required'], ['#/events/1/data/conversation/id', 'wrong_type']),
    );
  });

  it('reports the problems of all events at once', () => {
    const events = [anEvent({ id: 'x', seq: 1 }), 5, anEvent(), anEvent({ event: 'nope', data: 1 })];
    expect(refusalOf({ events })).toEqual(
      invalid(
        ['#/events/0/seq', 'unknown_member'],
        ['#/events/0/id', 'invalid_format'],
        ['#/events/1', 'wrong_type'],
        ['#/events/3/event', 'unknown_event_type'],
        ['#/events/3/data', 'wrong_type'],
      ),
    );
  });

  it('reports at most 100 problems', () => {
    const events = Array.from({ length: 101 }, () => anEvent({ id: 1 }));
    expect(refusalOf({ events })).toMatchObject({ code: 'validation_failed', problems: { length: 100 } });
  });

  it('reports at most 20 unknown members of an event', () => {
    const members = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`m${n}`, n]));
    expect(refusalOf({ events: [anEvent(members)] })).toMatchObject({ problems: { length: 20 } });
    expect(refusalOf({ ...members, events: [anEvent()] })).toMatchObject({ problems: { length: 20 } });
  });

  it('says what is wrong in words', () => {
    expect(() => parse({ events: [anEvent({ event: 'fraud.flagged', widget_id: WIDGET })] })).toThrow(
      'validation_failed: #/events/0/widget_id: must be null: fraud.flagged is an org-wide event',
    );
  });
});

describe('an unknown event type', () => {
  it.each(['nope', '', 'TICKET.CREATED', 'constructor', '__proto__', 'test', 'lead.captured'])(
    'is unknown_event_type: %j',
    (event) => {
      expect(refusalOf({ events: [anEvent(), anEvent({ event })] })).toEqual({
        code: 'unknown_event_type',
        problems: [['#/events/1/event', 'unknown_event_type']],
      });
    },
  );

  it('is validation_failed together with any other problem, even one after the 100 that are reported', () => {
    expect(refusalOf({ events: [anEvent({ event: 'nope', id: 1 })] })).toMatchObject({ code: 'validation_failed' });
    const events = [...Array.from({ length: 100 }, () => anEvent({ event: 'nope' })), anEvent({ id: 1 })];
    expect(refusalOf({ events })).toMatchObject({ code: 'validation_failed' });
  });

  it('repeats a bounded part of its name', () => {
    expect(() => parse({ events: [anEvent({ event: 'x'.repeat(1000) })] })).toThrow(
      `unknown_event_type: #/events/0/event: "${'x'.repeat(64)}" is not an event type`,
    );
  });
});

describe('an org key that names another organization', () => {
  const refusal = { code: 'insufficient_scope', problems: [['#/events/1/org_id', 'insufficient_scope']] };

  it('is insufficient_scope, and nothing else is reported', () => {
    const events = [anEvent({ event: 'nope', id: 1 }), anEvent({ org_id: OTHER_ORG, data: 1 })];
    expect(refusalOf({ events })).toEqual(refusal);
    expect(() => parse({ events })).toThrow('events:write');
  });

  it('is insufficient_scope after any number of other problems', () => {
    const [first, ...others] = Array.from({ length: 200 }, () => anEvent({ id: 1 }));
    expect(refusalOf({ events: [first, anEvent({ org_id: OTHER_ORG }), ...others] })).toEqual(refusal);
    expect(refusalOf({ events: [...others, anEvent({ org_id: OTHER_ORG })] })).toMatchObject({
      code: 'insufficient_scope',
    });
  });
});

describe('the limits', () => {
  const tooLarge = { code: 'payload_too_large', problems: [] };
  const KIB = 1024;

  /** The text of an event of exactly so many bytes, with characters of one to four bytes. */
  function eventOfBytes(bytes: number, filling = ''): string {
    const text = JSON.stringify(anEvent({ data: { text: filling } }));
    return text.replace('"text":"', `"text":"${'x'.repeat(bytes - Buffer.byteLength(text))}`);
  }

  it.each(['', 'é', '😀'])('an event may have 256 KiB of its own text, and no byte more (%s)', (filling) => {
    expect(refusalOf(`{"events":[${eventOfBytes(256 * KIB, filling)}]}`)).toBe('accepted');
    expect(refusalOf(`{"events":[${eventOfBytes(1000)},\n ${eventOfBytes(256 * KIB + 1, filling)}]}`)).toEqual(
      tooLarge,
    );
  });

  it('a request may have 500 events, and none more', () => {
    expect(refusalOf({ events: Array.from({ length: 500 }, () => anEvent()) })).toBe('accepted');
    expect(refusalOf({ events: Array.from({ length: 501 }, () => anEvent()) })).toEqual(tooLarge);
  });

  it('a request may have 4 MiB, and no byte more', () => {
    const body = `{"events":[${Array(16)
      .fill(eventOfBytes(255 * KIB))
      .join(',')}]}`;
    expect(refusalOf(body.padEnd(4 * KIB * KIB))).toBe('accepted');
    expect(refusalOf(body.padEnd(4 * KIB * KIB + 1))).toEqual(tooLarge);
  });

  it('sizes are checked before anything else', () => {
    const events = Array.from({ length: 501 }, () => anEvent({ id: 1, org_id: OTHER_ORG }));
    expect(refusalOf({ events, more: 1 })).toEqual(tooLarge);
  });

  const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

  it('data may nest 64 levels deep, and no deeper', () => {
    const body = (levels: number) => `{"events":[{"event":"ticket.created","data":${nested(levels)}}]}`;
    expect(refusalOf(body(64))).toBe('accepted');
    expect(refusalOf(body(65))).toEqual(invalid(['#/events/0', 'too_deep']));
  });

  it('data that nests too deep is named by its event, if the body begins with them', () => {
    const text = `[{"event":"ticket.created","data":{"a":[1,2],"b":",["}},{"event":"ticket.created","data":${nested(65)}}]`;
    expect(refusalOf(`{ "events": ${text}}`)).toEqual(invalid(['#/events/1', 'too_deep']));
    expect(refusalOf(`{"more":1,"events":${text}}`)).toEqual(invalid(['#', 'too_deep']));
    expect(refusalOf(`{"events":[],"more":${text}}`)).toEqual(invalid(['#', 'too_deep']));
  });

  it('refuses 4 MiB of brackets at once', () => {
    const half = 2 * KIB * KIB;
    expect(refusalOf('['.repeat(half) + ']'.repeat(half))).toEqual(invalid(['#', 'too_deep']));
  });
});

describe('whatever is submitted', () => {
  // refusalOf rethrows what is no GaplessError.
  const neverThrowsOtherwise = (bodies: fc.Arbitrary<Buffer>) => {
    fc.assert(
      fc.property(bodies, fc.constantFrom(orgKey, serviceKey), (body, context) => {
        refusalOf(body, context);
      }),
      { numRuns: 1_000 },
    );
  };
  const member = (...values: readonly unknown[]) => fc.oneof(fc.constantFrom(...values), fc.jsonValue());
  const nearlyAnEvent = fc.record(
    {
      id: member(ID),
      event: member(...EVENT_TYPES),
      occurred_at: member('2026-03-02T09:14:05Z'),
      org_id: member(ORG, OTHER_ORG),
      widget_id: member(WIDGET, null),
      data: member({}, ...EVENT_TYPES.map((type) => catalogEntry(type).example)),
    },
    { requiredKeys: [] },
  );

  it('throws nothing but a GaplessError: bytes', () => {
    neverThrowsOtherwise(fc.uint8Array().map((bytes) => Buffer.from(bytes)));
  });

  it('throws nothing but a GaplessError: JSON', () => {
    neverThrowsOtherwise(fc.json({ stringUnit: 'binary' }).map((json) => Buffer.from(json)));
  });

  it('throws nothing but a GaplessError: nearly an event', () => {
    const bodies = fc.record({ events: fc.array(fc.oneof(nearlyAnEvent, fc.jsonValue())) });
    neverThrowsOtherwise(bodies.map((body) => Buffer.from(JSON.stringify(body))));
  });

  it('keeps the data that JSON.parse sees', () => {
    const payloads = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }));
    fc.assert(
      fc.property(fc.array(payloads, { minLength: 1 }), (datas) => {
        const body = JSON.stringify({ events: datas.map((data) => anEvent({ data })) });
        expect(parse(body).map((event) => event.dataJson)).toEqual(datas.map((data) => JSON.stringify(data)));
      }),
    );
  });
});

describe('a large body, which is parsed event by event', () => {
  /** Returns the events of the body, or the refusal. */
  function outcomeOf(body: string, wholeBytes: number) {
    try {
      const steps = submissionSteps(Buffer.from(body), orgKey, wholeBytes);
      for (;;) {
        const step = steps.next();
        if (step.done === true) return step.value;
      }
    } catch (error) {
      if (error instanceof GaplessError) return { code: error.code, problems: error.problems };
      throw error;
    }
  }
  /** Few characters, so that a change often hits the frame. */
  const anEdit = fc.record({
    at: fc.nat(),
    removed: fc.nat({ max: 2 }),
    added: fc.stringMatching(/^[[\]{}",:\\ \n1a]{0,2}$/),
  });
  const smallEvent = fc.constantFrom(anEvent(), { event: 'ticket.created', data: [] }, {}, 1, [], 'x');
  const aBody = fc.oneof(
    fc.record({ events: fc.array(smallEvent) }),
    fc.record({ a: fc.jsonValue(), events: fc.constant([anEvent()]), b: fc.jsonValue() }, { requiredKeys: [] }),
    fc.jsonValue(),
  );

  it('is accepted or refused as a small one is, whatever is wrong with it', () => {
    fc.assert(
      fc.property(aBody, fc.array(anEdit, { maxLength: 2 }), fc.boolean(), (body, edits, isSpaced) => {
        let text = isSpaced ? JSON.stringify(body, null, ' ') : JSON.stringify(body);
        for (const { at, removed, added } of edits) {
          const from = at % (text.length + 1);
          text = text.slice(0, from) + added + text.slice(from + removed);
        }
        const whole = outcomeOf(text, Infinity);
        const inSteps = outcomeOf(text, 0);
        // Nobody parses the rest of a large body that is no object.
        if (!text.trimStart().startsWith('{')) expect(inSteps).toHaveProperty('code');
        else expect(inSteps).toEqual(whole);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    ['repeats of events', `{${'"events":[{}],'.repeat(60)}"events":[]}`],
    ['bytes outside of them', `{"a":"${'x'.repeat(300_000)}","events":[{}]}`],
    ['events', `{"events":[${'{},'.repeat(600)}{}]}`],
  ])('has no end of %s', (_, body) => {
    expect(outcomeOf(body, 0)).toMatchObject({ code: 'payload_too_large' });
  });

  it('is malformed_request with a byte order mark', () => {
    expect(outcomeOf('\ufeff{"events":[]}', 0)).toMatchObject({ code: 'malformed_request' });
  });

  const event = JSON.stringify(anEvent({ data: { text: 'x'.repeat(60_000) } }));
  const body = Buffer.from(`{"events":[${Array(40).fill(event).join()}]}`);

  describe('by a clock on which each look takes a millisecond, as each step does', () => {
    let turns: number;
    let isOver: boolean;
    // It never goes back, not even from one test to the next.
    let nowMs = performance.now();

    beforeEach(() => {
      jest.spyOn(performance, 'now').mockImplementation(() => nowMs++);
      [turns, isOver] = [0, false];
      const turn = () => {
        turns++;
        if (!isOver) setImmediate(turn);
      };
      setImmediate(turn);
    });

    afterEach(() => {
      isOver = true;
      jest.restoreAllMocks();
    });

    it('leaves time for other work', async () => {
      const inSteps = await new SubmissionParser().parse(body, orgKey);
      expect(turns).toBeGreaterThanOrEqual(40 / 2);
      expect(inSteps).toEqual(parseSubmission(body, orgKey));
      expect([...submissionSteps(body, orgKey)]).toHaveLength(40);
    });

    it('shares the time of each turn with other large bodies, and a small one waits for none', async () => {
      const small = Buffer.from(JSON.stringify({ events: [anEvent()] }));
      const parser = new SubmissionParser();
      const parsed: string[] = [];
      const parses = async (name: string, text: Buffer) => {
        await parser.parse(text, orgKey);
        parsed.push(name);
      };
      await Promise.all([...['one', 'two', 'three'].map((name) => parses(name, body)), parses('small', small)]);
      expect(parsed[0]).toBe('small');
      // Of the 120 steps of all three, no more than two run in a turn.
      expect(turns).toBeGreaterThanOrEqual(120 / 2);
    });
  });
});
