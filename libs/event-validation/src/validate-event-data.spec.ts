import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { CATALOG, catalogEntry, EVENT_TYPES, type EventType } from '#libs/domain';
import { validateEventData } from './validate-event-data.js';

type Data = Record<string, unknown>;

const STRICT: readonly EventType[] = [
  'conversation.queued',
  'conversation.queued.escalated',
  'conversation.picked_up',
  'conversation.abandoned',
  'lead.created',
  'lead.captured',
  'endpoint.failing',
  'endpoint.disabled',
  'endpoint.enabled',
  'delivery.exhausted',
];
const ALERTING = STRICT.slice(0, 4);

const exampleOf = (type: EventType) => structuredClone(catalogEntry(type).example) as Data;

/** The example with the member at the path replaced; undefined takes it away. */
function changed(type: EventType, path: string, value: unknown): Data {
  const data = exampleOf(type);
  const names = path.split('/').slice(1);
  const last = names.pop()!;
  const parent = names.reduce((node, name) => node[name] as Data, data);
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else parent[last] = value;
  return data;
}

const problemsOf = (type: EventType, data: unknown) =>
  validateEventData(type, data).map(({ pointer, code }) => [pointer, code]);

/** What changing one place of the example leads to. */
const problemsAfter = (type: EventType, path: string, value: unknown) => problemsOf(type, changed(type, path, value));

describe('the schemas of the catalog', () => {
  it.each(EVENT_TYPES)('%s: accepts its example', (type) => {
    expect(problemsOf(type, catalogEntry(type).example)).toEqual([]);
  });

  it.each(CATALOG.map((entry) => [entry.event, entry.schema] as const))(
    '%s: is valid JSON Schema 2020-12',
    (_type, schema) => {
      const ajv = new Ajv2020();
      expect(ajv.validateSchema(schema)).toBe(true);
      expect(schema['$schema']).toBe('https://json-schema.org/draft/2020-12/schema');
    },
  );

  it.each(EVENT_TYPES)('%s: refuses what is not an object', (type) => {
    for (const data of [null, [], 'text', 1, true]) expect(problemsOf(type, data)).toEqual([['', 'wrong_type']]);
  });

  it.each(EVENT_TYPES.filter((type) => !STRICT.includes(type)))('%s: accepts any object', (type) => {
    expect(problemsOf(type, {})).toEqual([]);
    expect(problemsOf(type, { conversation: 1, id: [], ['__proto__']: null })).toEqual([]);
  });
});

describe('conversation data (contract 3.3)', () => {
  it.each(ALERTING)('%s: demands what a notification shows', (type) => {
    for (const path of [
      '/conversation',
      '/conversation/id',
      '/conversation/subject',
      '/conversation/url',
      '/widget',
      '/widget/id',
      '/widget/name',
      '/channel',
      '/department/id',
      '/department/name',
      '/visitor',
      '/visitor/id',
    ]) {
      expect(problemsAfter(type, path, undefined)).toEqual([[path, 'required']]);
    }
  });

  it.each(ALERTING)('%s: demands the status and how long and how many wait', (type) => {
    for (const name of ['status', 'waited_seconds', 'queue_depth']) {
      expect(problemsAfter(type, `/conversation/${name}`, undefined)).toEqual([[`/conversation/${name}`, 'required']]);
    }
  });

  it.each(ALERTING)('%s: types every member of the spec', (type) => {
    for (const [path, wrong] of [
      ['/conversation', 'cnv_1'],
      ['/conversation/id', 7],
      ['/conversation/subject', null],
      ['/conversation/first_message', 1],
      ['/conversation/status', 1],
      ['/conversation/waited_seconds', '62'],
      ['/conversation/waited_seconds', 1.5],
      ['/conversation/queue_depth', true],
      ['/conversation/url', {}],
      ['/widget', 'Shop'],
      ['/widget/id', 1],
      ['/channel', null],
      ['/department', []],
      ['/department/name', null],
      ['/visitor', null],
      ['/visitor/id', 88213],
      ['/visitor/name', 1],
      ['/visitor/email', false],
      ['/visitor/verified', 'true'],
      ['/visitor/locale', 1],
      ['/visitor/country', {}],
    ] as const) {
      expect(problemsAfter(type, path, wrong)).toEqual([[path, 'wrong_type']]);
    }
  });

  it.each(ALERTING)('%s: refuses an empty conversation id and negative counts', (type) => {
    expect(problemsAfter(type, '/conversation/id', '')).toEqual([['/conversation/id', 'out_of_range']]);
    expect(problemsAfter(type, '/conversation/waited_seconds', -1)).toEqual([
      ['/conversation/waited_seconds', 'out_of_range'],
    ]);
    expect(problemsAfter(type, '/conversation/queue_depth', -1)).toEqual([
      ['/conversation/queue_depth', 'out_of_range'],
    ]);
  });

  it.each(ALERTING)('%s: first_message may be absent or empty', (type) => {
    expect(problemsAfter(type, '/conversation/first_message', undefined)).toEqual([]);
    expect(problemsAfter(type, '/conversation/first_message', '')).toEqual([]);
  });

  it.each(ALERTING)('%s: takes a conversation without department or widget, and an anonymous visitor', (type) => {
    expect(problemsAfter(type, '/department', null)).toEqual([]);
    expect(problemsAfter(type, '/department', undefined)).toEqual([]);
    expect(problemsAfter(type, '/widget', null)).toEqual([]);
    expect(problemsAfter(type, '/visitor', { id: 'vis_1' })).toEqual([]);
    expect(
      problemsAfter(type, '/visitor', { id: 'vis_1', name: null, email: null, locale: null, country: null }),
    ).toEqual([]);
  });

  it.each(ALERTING)('%s: takes members that the spec does not name', (type) => {
    expect(problemsAfter(type, '/conversation/tags', ['vip'])).toEqual([]);
    expect(problemsAfter(type, '/extra', null)).toEqual([]);
  });

  it.each([
    ['conversation.queued', 'waiting_for_agent'],
    ['conversation.queued.escalated', 'waiting_for_agent'],
    ['conversation.picked_up', 'active'],
    ['conversation.abandoned', 'abandoned'],
  ] as const)('%s: has the status %s and no other', (type, status) => {
    expect(problemsAfter(type, '/conversation/status', status)).toEqual([]);
    expect(problemsAfter(type, '/conversation/status', 'resolved')).toEqual([['/conversation/status', 'not_allowed']]);
  });

  it.each([
    ['conversation.queued', 1, 2],
    ['conversation.queued.escalated', 2, 1],
  ] as const)('%s: has the stage %d', (type, stage, other) => {
    expect(problemsAfter(type, '/stage', stage)).toEqual([]);
    expect(problemsAfter(type, '/stage', other)).toEqual([['/stage', 'not_allowed']]);
    expect(problemsAfter(type, '/stage', String(stage))).toEqual([['/stage', 'wrong_type']]);
    expect(problemsAfter(type, '/stage', undefined)).toEqual([['/stage', 'required']]);
  });

  it.each(['conversation.picked_up', 'conversation.abandoned'] as const)('%s: has no stage', (type) => {
    expect(problemsAfter(type, '/stage', 1)).toEqual([['/stage', 'not_allowed']]);
    expect(problemsAfter(type, '/stage', null)).toEqual([['/stage', 'not_allowed']]);
  });

  it('conversation.picked_up: names who picked it up', () => {
    const type = 'conversation.picked_up';
    expect(problemsAfter(type, '/picked_up_by', undefined)).toEqual([['/picked_up_by', 'required']]);
    expect(problemsAfter(type, '/picked_up_by', null)).toEqual([['/picked_up_by', 'wrong_type']]);
    expect(problemsAfter(type, '/picked_up_by/name', undefined)).toEqual([['/picked_up_by/name', 'required']]);
  });
});

describe('lead data (contract 3.4)', () => {
  it.each(['id', 'email', 'source', 'created_at'])('demands %s', (name) => {
    expect(problemsAfter('lead.created', `/${name}`, undefined)).toEqual([[`/${name}`, 'required']]);
  });

  it.each(['id', 'email', 'name', 'company', 'source', 'created_at'])('types %s', (name) => {
    expect(problemsAfter('lead.created', `/${name}`, 1)).toEqual([[`/${name}`, 'wrong_type']]);
  });

  it('takes a lead that left no email, name or company', () => {
    expect(problemsAfter('lead.created', '/email', null)).toEqual([]);
    for (const path of ['/name', '/company']) {
      expect(problemsAfter('lead.created', path, null)).toEqual([]);
      expect(problemsAfter('lead.created', path, undefined)).toEqual([]);
    }
  });

  it('takes sources that the spec does not list', () => {
    expect(problemsAfter('lead.created', '/source', 'telegram')).toEqual([]);
  });

  it('demands a real time of creation', () => {
    expect(problemsAfter('lead.created', '/created_at', '2026-02-30T00:00:00Z')).toEqual([
      ['/created_at', 'invalid_format'],
    ]);
  });
});

describe('validateEventData', () => {
  it('reports all problems at once, each with what would be right', () => {
    const data = {
      ...exampleOf('conversation.picked_up'),
      stage: 1,
      channel: 5,
      conversation: { id: 'c', status: 'x' },
    };
    expect(new Map(validateEventData('conversation.picked_up', data).map((p) => [p.pointer, p.detail]))).toEqual(
      new Map([
        ['/conversation/subject', 'is required'],
        ['/conversation/url', 'is required'],
        ['/conversation/waited_seconds', 'is required'],
        ['/conversation/queue_depth', 'is required'],
        ['/conversation/status', 'must be "active"'],
        ['/channel', 'must be string'],
        ['/stage', 'must be absent'],
      ]),
    );
    expect(validateEventData('conversation.queued', { ...data, widget: 1 })).toContainEqual({
      pointer: '/widget',
      code: 'wrong_type',
      detail: 'must be object or null',
    });
  });

  it('reports at most 20 problems', () => {
    const data = {
      conversation: { id: 1, subject: 1, first_message: 1, status: 1, waited_seconds: '', queue_depth: '', url: 1 },
      widget: { id: 1, name: 1 },
      channel: 1,
      department: { id: 1, name: 1 },
      visitor: { id: 1, name: 1, email: 1, verified: 1, locale: 1, country: 1 },
      stage: 1,
      picked_up_by: { id: 1, name: 1 },
    };
    expect(validateEventData('conversation.picked_up', data)).toHaveLength(20);
  });
});
