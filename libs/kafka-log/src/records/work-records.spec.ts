import { describe, expect, it } from '@jest/globals';
import {
  decodeFact,
  parseEndpointId,
  parseEventId,
  parseOrgId,
  type DeliveryFact,
  type InboxEvent,
} from '#libs/domain';
import { asStored } from '../testing/as-stored.js';
import { deadLetterRecord } from './dead-letter-records.js';
import { factRecord } from './fact-records.js';
import { inboxRecord } from './inbox-records.js';

const orgId = parseOrgId('0f8fad5b-d9cb-469f-a165-70867728950e')!;
const endpointId = parseEndpointId(`whe_${'E'.repeat(26)}`)!;
const EVENT: InboxEvent = {
  id: parseEventId('evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG')!,
  event: 'ticket.created',
  occurredAt: '2026-03-01T12:00:00.000Z',
  orgId,
  widgetId: null,
  dataJson: '{ "n": 1.0 }',
};

describe('a record of the inbox', () => {
  it('is keyed by its org, with data as it was submitted', () => {
    const record = asStored(inboxRecord('inbox', EVENT, { traceparent: '00-a-b-01' }));
    expect(record.key?.toString()).toBe(orgId);
    expect(record.value?.toString()).toBe(
      `{"id":"${EVENT.id}","event":"ticket.created","occurred_at":"${EVENT.occurredAt}",` +
        `"org_id":"${orgId}","widget_id":null,"data":{ "n": 1.0 }}`,
    );
    expect(record.headers).toEqual({ traceparent: '00-a-b-01' });
  });

  it('names the one endpoint that a test is meant for', () => {
    const record = inboxRecord('inbox', EVENT, { traceparent: 't', targetEndpoint: endpointId });
    expect(record.headers).toEqual({ traceparent: 't', 'target-endpoint': endpointId });
  });
});

describe('a record of a fact', () => {
  it('is keyed by its endpoint, and read as it was written', () => {
    const fact: DeliveryFact = { type: 'endpoint_disabled', endpointId, orgId, activation: 3, atMs: 5 };
    const record = asStored(factRecord('deliveries', fact));
    expect(record.key?.toString()).toBe(endpointId);
    expect(decodeFact(record.value)).toEqual(fact);
  });
});

describe('a dead letter', () => {
  it('is the record as it came, with the reason and where it stood (contract 10)', () => {
    const bad = asStored({ topic: 'inbox', key: Buffer.from([255]), value: Buffer.from('{'), headers: { own: 'ä' } });
    expect(deadLetterRecord('dead', bad, 'malformed_request', 'not JSON')).toEqual({
      topic: 'dead',
      key: Buffer.from([255]),
      value: Buffer.from('{'),
      headers: {
        own: 'ä',
        'x-error-code': 'malformed_request',
        'x-error-detail': 'not JSON',
        'x-origin': 'inbox/2/7',
      },
    });
  });

  it('is possible without key, value and headers', () => {
    const bad = asStored({ key: null, value: null });
    expect(deadLetterRecord('dead', bad, 'malformed_request', 'detail')).toMatchObject({ key: null, value: null });
  });
});
