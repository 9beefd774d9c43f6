import { describe, expect, it } from '@jest/globals';
import { parseEventId, type EndpointId } from '../kernel/index.js';
import { CATALOG } from './catalog.js';
import {
  isOperationalId,
  minuteOf,
  operationalEventId,
  operationalFactsId,
  type OperationalEventType,
} from './operational-event.js';

const endpointId = 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG' as EndpointId;
const operational = CATALOG.filter((entry) => entry.operational);

describe('operational events', () => {
  it('are four types, org-wide', () => {
    expect(operational.map(({ event }) => event)).toEqual([
      'endpoint.failing',
      'endpoint.disabled',
      'endpoint.enabled',
      'delivery.exhausted',
    ]);
    expect(new Set(operational.map(({ scope }) => scope))).toEqual(new Set(['org']));
  });

  it.each(operational.map(({ event, example }) => [event as OperationalEventType, example] as const))(
    '%s has the id of its facts, whatever else its data says',
    (event, example) => {
      const id = operationalFactsId(event, endpointId, example);
      const named = { ...example, endpoint: { id: endpointId, name: 'renamed', url: null } };
      expect(operationalFactsId(event, endpointId, named)).toBe(id);
      const other = { ...named, activation: 99, minute: '2026-01-01T00:00:00.000Z' };
      expect(operationalFactsId(event, endpointId, other)).not.toBe(id);
      expect(operationalFactsId(event, `${endpointId.slice(0, -1)}H` as EndpointId, named)).not.toBe(id);
    },
  );

  it('have ids that need the key of the installation', () => {
    const facts = operationalFactsId('endpoint.enabled', endpointId, { activation: 2 });
    const [id, again, elsewhere] = [1, 1, 2].map((byte) => operationalEventId(Buffer.alloc(32, byte), facts));
    expect(again).toBe(id);
    expect(elsewhere).not.toBe(id);
    expect(parseEventId(id)).toBe(id);
    expect([isOperationalId(id!), id!.includes(facts.slice('evt_'.length))]).toEqual([true, false]);
  });

  it('know the minute of a time', () => {
    expect(minuteOf(Date.UTC(2026, 5, 1, 12, 34, 56, 789))).toBe(Date.UTC(2026, 5, 1, 12, 34));
    expect(minuteOf(Date.UTC(2026, 5, 1, 12, 34))).toBe(Date.UTC(2026, 5, 1, 12, 34));
  });
});
