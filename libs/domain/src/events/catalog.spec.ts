import { describe, expect, it } from '@jest/globals';
import {
  CATALOG,
  catalogEntry,
  EVENT_TYPES,
  eventScope,
  isEventType,
  isFeedFilter,
  isIngestable,
  isSubscribable,
  type EventType,
} from './catalog.js';

/** Contract 7.1, family by family. */
const SPEC = {
  conversation: [
    'conversation.created',
    'conversation.queued',
    'conversation.queued.escalated',
    'conversation.picked_up',
    'conversation.abandoned',
    'conversation.handed_off',
    'conversation.transferred',
    'conversation.completed',
  ],
  ticket: [
    'ticket.created',
    'ticket.updated',
    'ticket.status_changed',
    'ticket.assigned',
    'ticket.unassigned',
    'ticket.sla_breach',
    'ticket.department_changed',
    'ticket.reopened',
    'ticket.reply',
    'ticket.reply_edited',
    'ticket.customer_reply',
  ],
  visitor: ['lead.created', 'visitor.identified'],
  call_request: ['call_request.created', 'call_request.updated', 'call_request.completed'],
  verification: [
    'verification.created',
    'verification.processing',
    'verification.completed',
    'verification.approved',
    'verification.rejected',
    'verification.manual_review',
    'verification.expired',
    'fraud.flagged',
  ],
  help_desk_content: [
    'help_center.created',
    'help_center.updated',
    'help_center.deleted',
    'help_collection.created',
    'help_collection.updated',
    'help_collection.deleted',
    'help_collection.reordered',
    'help_category.created',
    'help_category.updated',
    'help_category.deleted',
    'help_category.reordered',
    'help_article.created',
    'help_article.updated',
    'help_article.deleted',
    'help_article.published',
    'help_article.reordered',
  ],
  operations: ['endpoint.failing', 'endpoint.disabled', 'endpoint.enabled', 'delivery.exhausted'],
  test: ['test'],
} as const satisfies Record<string, readonly EventType[]>;

const SPEC_TYPES: readonly EventType[] = Object.values(SPEC).flat();
const OPERATIONAL: readonly EventType[] = SPEC.operations;
const ORDINARY_TYPES = SPEC_TYPES.filter((type) => type !== 'test' && !OPERATIONAL.includes(type));
const ORG_WIDE: readonly EventType[] = [
  ...SPEC.verification,
  ...SPEC.help_desk_content,
  ...SPEC.operations,
  ...SPEC.test,
];
const NO_TYPES = ['', 'nope', 'TEST', 'ticket', 'ticket.*', 'constructor', '__proto__', 'toString'];

describe('the catalog', () => {
  it('holds every type of contract 7.1, and lead.captured, once each', () => {
    expect([...EVENT_TYPES].sort()).toEqual([...SPEC_TYPES, 'lead.captured'].sort());
  });

  it.each(Object.entries(SPEC))('puts the types of contract 7.1 into the family %s', (family, types) => {
    for (const type of types) expect(catalogEntry(type)).toMatchObject({ event: type, family });
  });

  it('is plain JSON, members of contract 5.7 and nothing else', () => {
    expect(JSON.parse(JSON.stringify(CATALOG))).toEqual(CATALOG);
    for (const entry of CATALOG) {
      expect(Object.keys(entry)).toEqual([
        'event',
        'family',
        'description',
        'scope',
        'deprecated',
        'operational',
        'subject',
        'schema',
        'example',
      ]);
    }
  });

  it('deprecates lead.captured alone', () => {
    expect(CATALOG.filter((entry) => entry.deprecated).map((entry) => entry.event)).toEqual(['lead.captured']);
  });

  it('makes help desk content, verification, fraud, operations and test org-wide', () => {
    expect(EVENT_TYPES.filter((type) => eventScope(type) === 'org').sort()).toEqual([...ORG_WIDE].sort());
  });

  it('names no type that is not in it', () => {
    for (const text of NO_TYPES) {
      expect([isEventType(text), isIngestable(text), isSubscribable(text), isFeedFilter(text)]).toEqual(
        Array(4).fill(false),
      );
    }
    expect(() => catalogEntry('constructor' as EventType)).toThrow(RangeError);
  });
});

describe('what a type may be used for', () => {
  it.each(ORDINARY_TYPES)('%s: ingested, subscribed to and filtered by', (type) => {
    expect([isIngestable(type), isSubscribable(type), isFeedFilter(type)]).toEqual([true, true, true]);
  });

  it('lead.captured: subscribed to, never ingested', () => {
    expect([isIngestable('lead.captured'), isSubscribable('lead.captured')]).toEqual([false, true]);
    expect(isFeedFilter('lead.captured')).toBe(true);
  });

  it.each(OPERATIONAL)('%s: subscribed to and filtered by, never ingested', (type) => {
    expect(catalogEntry(type).operational).toBe(true);
    expect([isIngestable(type), isSubscribable(type), isFeedFilter(type)]).toEqual([false, true, true]);
  });

  it('test: filtered by, neither ingested nor subscribed to', () => {
    expect([isIngestable('test'), isSubscribable('test'), isFeedFilter('test')]).toEqual([false, false, true]);
  });
});
