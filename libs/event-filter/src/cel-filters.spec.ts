import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { heldBytes } from '../../../test/support/held-bytes.js';
import { CelFilters } from './cel-filters.js';
import { compileFilter, type CompiledFilter } from './compiled-filter.js';
import { checkFilter, checkSyntax } from './check-filter.js';

const TICKET = {
  id: 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  seq: 5,
  event: 'ticket.created',
  occurred_at: '2026-03-02T09:14:05.000Z',
  timestamp: '2026-03-02T09:14:05.000Z',
  org_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
  widget_id: null,
  data: {
    priority: 'urgent',
    number: 5120,
    score: 0.5,
    assignee: null,
    tags: ['vip', 'de'],
    items: [{ price: 5 }, { price: 200 }],
    requester: { email: 'jonas@example.com' },
  },
};

const OTHER_ORG = '6b2c1f0e-3d5a-4b77-8f0f-0d4c3a1e9b55';

function envelopeOf(data: unknown): Buffer {
  return Buffer.from(JSON.stringify({ ...TICKET, data }));
}

const filters = new CelFilters();

function resultOf(filter: string, data: unknown = TICKET.data): string {
  const result = filters.test(filter, envelopeOf(data));
  return result.kind === 'fails' ? `fails: ${result.reason}` : result.kind;
}

describe('a filter', () => {
  it.each([
    'event.data.priority == "urgent"',
    'event.data["priority"] == "urgent"',
    'event.data.priority in ["urgent", "high"]',
    'event.data.number > 5000 && event.data.number <= 5120.0',
    'event.data.number == 5120',
    'event.data.number in [1, 5120]',
    'event.data.score * 2 == 1',
    'event.seq % 2 == 1',
    'event.data.assignee == null',
    'event.widget_id == null',
    '!has(event.data.missing)',
    'event.data.tags.exists(tag, tag == "vip")',
    'event.data.tags.all(tag, size(tag) < 4)',
    'event.data.items.exists_one(item, item.price > 100)',
    'size(event.data.items.filter(item, item.price > 100)) == 1',
    '"de" in event.data.tags',
    'event.data.requester.email.endsWith("@example.com")',
    'event.data.priority.upperAscii() == "URGENT"',
    'int(event.data.score) == 0 && string(event.data.number) == "5120"',
    'event.occurred_at < "2026-04"',
    'event.data.missing == 1 || event.data.priority == "urgent"',
  ])('matches: %s', (filter) => {
    expect([resultOf(filter), checkFilter(filter, ['ticket.created'])]).toEqual(['matches', undefined]);
  });

  it.each([
    'event.data.priority == "low"',
    'event.data.priority == 5',
    'event.data.assignee == "anna"',
    'event.data.tags.exists(tag, tag == "gold")',
    'event.data.missing == 1 && event.data.priority == "low"',
    'has(event.data.missing)',
  ])('leaves out: %s', (filter) => {
    expect(resultOf(filter)).toBe('leaves_out');
  });

  it.each([
    ['event.data.missing == 1', /No such key: missing/],
    ['event.data.priority > 5', /no such overload/],
    ['event.data.tags[7] == "a"', /out of bounds/],
    ['event.data.assignee.name == "Anna"', /No such key: name/],
    ['event.seq > 1 && 1 / 0 == 1', /division by zero/],
    ['9223372036854775807 + 1 > 0', /overflow/],
  ])('has no answer: %s', (filter, reason) => {
    expect(resultOf(filter)).toMatch(reason);
  });

  it('has the same answer for the same bytes, whatever was asked in between', () => {
    const [urgent, low] = [envelopeOf({ priority: 'urgent' }), envelopeOf({ priority: 'low' })];
    const filter = 'event.data.priority == "urgent"';
    const kinds = [urgent, low, urgent, low].map((envelope) => filters.test(filter, envelope).kind);
    expect(kinds).toEqual(['matches', 'leaves_out', 'matches', 'leaves_out']);
  });

  it('that was stored but is not valid has no answer', () => {
    expect(resultOf('event.data.a.matches("(a+)+$")')).toMatch(/^fails/);
    expect(filters.test('event.seq > 0', Buffer.from('{')).kind).toBe('fails');
  });

  describe.each([
    { filters: 5_000, length: 150, again: 0 },
    // The first is there no longer when its turn comes again, and so is each one after it.
    { filters: 600, length: 1_900, again: 600 },
  ])('of $length characters, among $filters in use', ({ filters: count, length, again }) => {
    it(`is compiled ${again === 0 ? 'once' : 'again when the others have taken its place'}, with the same answer`, () => {
      let compiled = 0;
      const several = new CelFilters(undefined, (text) => {
        compiled++;
        return compileFilter(text);
      });
      const envelope = envelopeOf({});
      const padding = 'a'.repeat(length - 40);
      const round = () => {
        for (let nth = 0; nth < count; nth++) {
          const text = `event.seq == 5 && "${nth}" != "${padding}"`;
          if (several.test(text, envelope).kind !== 'matches') throw new Error(text);
        }
        return compiled;
      };
      expect(round()).toBe(count);
      expect(round()).toBe(count + again);
    });
  });

  it('that is used stays compiled while others take the place of others', () => {
    let compiled = 0;
    const several = new CelFilters(undefined, (text) => {
      if (text === 'event.seq == 5') compiled++;
      return compileFilter(text);
    });
    const envelope = envelopeOf({});
    for (let nth = 0; nth < 1_200; nth++) {
      several.test(`event.seq == ${nth} && "${'a'.repeat(1_800)}" != ""`, envelope);
      expect(several.test('event.seq == 5', envelope).kind).toBe('matches');
    }
    expect(compiled).toBe(1);
  });
});

describe('names of prototypes', () => {
  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype'])('%s is a missing member', (name) => {
    expect(resultOf(`has(event.data.${name})`)).toBe('leaves_out');
    expect(resultOf(`event.data["${name}"] == 1`)).toMatch(/^fails/);
    expect(resultOf(`event.${name} == 1`)).toMatch(/^fails/);
  });

  it('that an event has are members, or leave the filter without an answer', () => {
    const data: unknown = JSON.parse('{"__proto__": {"priority": "urgent"}, "constructor": "x", "toString": 1}');
    expect(resultOf('has(event.data.priority)', data)).not.toBe('matches');
    expect(({} as Record<string, unknown>)['priority']).toBeUndefined();
    expect(resultOf('event.data.toString == 1', { toString: 1 })).toBe('matches');
  });
});

describe('a hostile filter', () => {
  const text = (count: number, part: string) => part.repeat(count);
  it.each([
    ['of 1 MB', text(1_000_000, 'a')],
    ['of 1 MB with dots', `event${text(500_000, '.a')} == 1`],
    ['that is deep in parentheses', `${text(900, '(')}true${text(900, ')')}`],
    ['that is deep in negations', `${text(1_900, '!')}true`],
    ['that is deep in minus signs', `${text(1_900, '-')}1 == 1`],
    ['that is deep in lists', `${text(900, '[')}1${text(900, ']')} == []`],
    ['that is deep in members', `event.data${text(600, '.a')} == 1`],
    ['that is deep in indexes', `event.data${text(600, '[0]')} == 1`],
    ['that is deep in choices', `${text(300, 'true?')}true${text(300, ':true')}`],
    ['of too many parts', text(480, '1+') + '1 == 1'],
    ['with a long list', `event.seq in [${text(900, '1,')}1]`],
    ['with nested macros', `event.data.a.all(x, ${text(20, 'event.data.a.all(y, ')}true${text(20, ')')})`],
    ['with a huge exponent', 'event.seq < 1e99999'],
    ['with an unfinished text', '"""'],
    ['with a lone surrogate', 'event.data.a == "\ud800"'],
  ])('%s is refused, or harmless', (_what, filter) => {
    checkSyntax(filter);
    checkFilter(filter, ['ticket.created']);
    expect(typeof resultOf(filter)).toBe('string');
  });

  it.each([
    ['parentheses', `${text(900, '(')}true${text(900, ')')}`],
    ['members', `event.data${text(600, '.a')} == 1`],
    ['parts', `${text(480, '1+')}1 == 1`],
    ['elements', `event.seq in [${text(900, '1,')}1]`],
    ['characters', `event.data.a == "${text(2_000, 'a')}"`],
  ])('of too many %s is refused', (_what, filter) => {
    expect(checkSyntax(filter)).toBeDefined();
  });

  const long = 'a'.repeat(200_000);

  it.each<[string, string, unknown]>([
    ['over a long list', 'event.data.a.all(x, x == 1)', { a: Array.from({ length: 101 }, () => 1) }],
    [
      'over a large object',
      'event.data.a.all(x, x == "1")',
      { a: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [at, 1])) },
    ],
    [
      'over many lists',
      `${text(12, 'event.data.a.exists(x, x.b == 1) || ')}false`,
      { a: Array.from({ length: 20 }, () => 1) },
    ],
    [
      'with many steps for each element',
      `event.data.a.all(x, ${text(25, 'x != 2 && ')}true)`,
      { a: Array.from({ length: 100 }, () => 1) },
    ],
    [
      'that reads the event for each element',
      'event.data.a.all(x, !(x in event.data.b))',
      { a: Array.from({ length: 90 }, () => 1), b: Array.from({ length: 9_000 }, () => 2) },
    ],
    ...['double(event.data.s) != 1.0', 'int(event.data.s) != 1'].map((read): [string, string, unknown] => [
      `that reads a text as a number often: ${read}`,
      `event.data.a.all(x, ${read})`,
      { a: Array.from({ length: 100 }, () => 1), s: ' '.repeat(200_000) },
    ]),
    ['that reads a long text often', `${text(40, 'event.data.a.contains("b") || ')}false`, { a: long }],
    [
      'that names a long text often in a list',
      `event.data.a in [${text(40, 'event.data.b, ')}event.data.b]`,
      { a: long, b: `b${long.slice(1)}` },
    ],
    [
      'that takes a long list for the name of a member',
      'event.data.a.exists(x, event.data[event.data.b] == 1)',
      { a: Array.from({ length: 90 }, () => 1), b: Array.from({ length: 9_000 }, () => 2) },
    ],
    [
      'that joins many texts',
      `${text(60, 'event.data.a + ')}event.data.a != event.data.b`,
      { a: 'a'.repeat(1_500), b: 'b' },
    ],
  ])('%s has no answer', (_what, filter, data) => {
    expect(checkSyntax(filter)).toBeUndefined();
    expect(resultOf(filter, data)).toMatch(/too large|more than 100 elements/);
  });
});

describe('a comparison', () => {
  /** A map that counts how often its members are listed. */
  function aLargeMap() {
    const map = Object.fromEntries(Array.from({ length: 1_300 }, (_, at) => [`k${at}`, 1]));
    const listed = jest.fn<(target: object) => string[]>(Object.keys);
    return { map: new Proxy(map, { ownKeys: listed }), listed };
  }

  const empty = Array.from({ length: 4_000 }, () => ({}));

  it.each<[string, (map: object) => object]>([
    ['event.data.a in event.data.b', (a) => ({ a, b: empty })],
    ['event.data.a in event.data.b', (a) => ({ a: [a], b: empty.map((one) => [one]) })],
    ['event.data.l.exists(x, x in event.data.b)', (a) => ({ l: [a], b: empty })],
  ])('does not list the members of a large map for each small one: %s', (filter, data) => {
    const { map, listed } = aLargeMap();
    const compiled = compileFilter(filter) as CompiledFilter;
    expect(compiled.test({ ...TICKET, data: data(map) }, 200_000).kind).toBe('leaves_out');
    expect(listed.mock.calls.length).toBeLessThan(5);
  });

  it('finds a map of the same members in a list', () => {
    const one = { x: { y: [1, { z: null }] } };
    expect(resultOf('event.data.a in event.data.b', { a: one, b: [{}, { x: 1 }, one] })).toBe('matches');
    expect(resultOf('event.data.a in event.data.b', { a: one, b: [{ x: { y: [1, { z: 0 }] } }] })).toBe('leaves_out');
    expect(resultOf('event.data.a in event.data.b', { a: {}, b: [[], one, {}] })).toBe('matches');
    expect(resultOf('event.data.a in event.data.b', { a: { x: 1 }, b: [{ y: 1 }] })).toBe('leaves_out');
  });
});

describe('events of many shapes', () => {
  /** A value that is nested in one of 2^60 ways. */
  const nested = (depth: number): unknown => {
    if (depth === 0) return 1;
    return Math.random() < 0.5 ? [nested(depth - 1)] : { a: nested(depth - 1) };
  };

  it.each(['event.data.a.all(x, x != 1)', 'event.data.a.exists(x, size(x) > 5 || x in event.data.a)'])(
    'leave nothing behind: %s',
    async (filter) => {
      resultOf(filter, { a: [1] });
      const left = await heldBytes(() => {
        for (let n = 0; n < 20; n++) resultOf(filter, { a: Array.from({ length: 60 }, () => nested(60)) });
      });
      expect(left / 2 ** 20).toBeLessThan(20);
    },
  );

  it('differ by what they hold', () => {
    expect(resultOf('event.data.a == event.data.b', { a: [[1], ['x']], b: [[1], ['x']] })).toBe('matches');
    expect(resultOf('event.data.a == event.data.b', { a: [['x']], b: [[1]] })).toBe('leaves_out');
    expect(resultOf('event.data.a in event.data.b', { a: { x: [1] }, b: [{ x: ['1'] }, { x: [1] }] })).toBe('matches');
  });
});

describe('a filter that takes too long', () => {
  it('is not evaluated for a while, and answers nothing meanwhile', () => {
    let nowMs = 0;
    let costMs = 0.6;
    const timed = new CelFilters(() => (nowMs += costMs));
    const test = () => timed.test('event.data.a == 1', envelopeOf({ a: 2 })).kind;
    for (let n = 0; n < 20; n++) expect([n, test()]).toEqual([n, 'leaves_out']);
    expect(test()).toBe('fails');
    expect(timed.test('event.data.a == 2', envelopeOf({ a: 2 })).kind).toBe('matches');
    costMs = 0.001;
    nowMs += 29_000;
    expect(test()).toBe('fails');
    nowMs += 1_000;
    expect(test()).toBe('leaves_out');
  });

  /** Filters that take so long for each event, and one of them. */
  function slowFilters() {
    const time = { nowMs: 0, costMs: 0.6 };
    const timed = new CelFilters(() => (time.nowMs += time.costMs));
    const test = (orgId: string) => {
      const envelope = Buffer.from(JSON.stringify({ ...TICKET, org_id: orgId, data: { a: 2, org_id: OTHER_ORG } }));
      return timed.test('event.data.a == 1', envelope).kind;
    };
    return { time, test };
  }

  it('is evaluated on, if it does so only now and then', () => {
    const { time, test } = slowFilters();
    for (let n = 0; n < 200; n++) {
      time.costMs = n % 2 === 0 ? 0.1 : 0.6;
      expect(test(TICKET.org_id)).toBe('leaves_out');
    }
  });

  it('rests, too, if it does so nearly always', () => {
    const { time, test } = slowFilters();
    const kinds = Array.from({ length: 30 }, (_, n) => {
      time.costMs = n % 10 === 9 ? 0.1 : 0.6;
      return test(TICKET.org_id);
    });
    expect(kinds.indexOf('fails')).toBe(24);
  });

  it('rests for its organization alone', () => {
    const { time, test } = slowFilters();
    for (let n = 0; n < 20; n++) test(TICKET.org_id);
    expect(test(TICKET.org_id)).toBe('fails');
    time.costMs = 0.001;
    expect(test(OTHER_ORG)).toBe('leaves_out');
    expect(test(TICKET.org_id)).toBe('fails');
  });

  it('takes little memory for many organizations, and the latest are not forgotten', async () => {
    const { test } = slowFilters();
    const left = await heldBytes(() => {
      for (let n = 0; n < 50_000; n++) test(`00000000-0000-4000-8000-${String(n).padStart(12, '0')}`);
    });
    expect(left / 2 ** 20).toBeLessThan(2);
    for (let n = 0; n < 19; n++) test('00000000-0000-4000-8000-000000049999');
    expect(test('00000000-0000-4000-8000-000000049999')).toBe('fails');
  });
});

describe('for any text and any event', () => {
  const word = fc.constantFrom(
    ...[
      'event',
      '.data',
      '.a',
      '.b',
      '[',
      ']',
      '(',
      ')',
      '==',
      '!=',
      '&&',
      '||',
      '!',
      '-',
      '+',
      '%',
      '/',
      '?',
      ':',
      ',',
    ],
    ...[
      'in',
      'has',
      'size',
      '.exists',
      '.all',
      '.filter',
      'x',
      '"a"',
      '1',
      '2.5',
      'true',
      'null',
      '.contains',
      '{',
      '}',
    ],
  );
  const text = fc.oneof(
    fc.array(word, { maxLength: 30 }).map((words) => words.join(' ')),
    fc.string({ unit: 'binary', maxLength: 200 }),
  );

  it('checking and evaluating never throw', () => {
    fc.assert(
      fc.property(text, fc.jsonValue({ maxDepth: 5 }), (filter, data) => {
        checkSyntax(filter);
        checkFilter(filter, ['ticket.created', 'conversation.queued']);
        const { kind } = filters.test(filter, envelopeOf(data));
        return ['matches', 'leaves_out', 'fails'].includes(kind);
      }),
      { numRuns: 3_000 },
    );
  });

  const condition = fc.constantFrom(
    ...['event.data.a == event.data.b', 'event.data.a.exists(x, x == event.data.b)', 'has(event.data.a)'],
    ...['event.data.a > 1', 'event.data.a.contains("a")', 'size(event.data.a) > 1', 'event.data.a[0] in event.data.b'],
    ...['event.data.a + event.data.b == "ab"', 'event.data.a.b.size() % 2 == 0', 'event.data.a ? true : event.data.b'],
  );
  const names = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'length', 'then', 'valueOf');

  it('valid filters never throw, and answer the same twice', () => {
    const data = fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }));
    const filter = fc
      .array(fc.tuple(condition, fc.constantFrom(' && ', ' || ')), { minLength: 1, maxLength: 4 })
      .map((parts) => `!(${parts.map(([one, by]) => one + by).join('')}true)`);
    fc.assert(
      fc.property(filter, data, (asked, given) => {
        expect(new CelFilters().test(asked, envelopeOf(given))).toEqual(filters.test(asked, envelopeOf(given)));
      }),
      { numRuns: 1_000 },
    );
  });
});
