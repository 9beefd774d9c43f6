import { describe, expect, it } from '@jest/globals';
import { EVENT_BYTES, eventJson, ingestBodies } from './event-bodies.js';

function orgsOf(body: Buffer): readonly (string | undefined)[] {
  return (JSON.parse(body.toString()) as { events: readonly { org_id?: string }[] }).events.map((one) => one.org_id);
}

describe('an event of the benchmarks', () => {
  it('has as many bytes whether or not it names its org', () => {
    expect(Buffer.byteLength(eventJson({ event: 'ticket.created' }))).toBe(EVENT_BYTES);
    expect(Buffer.byteLength(eventJson({ event: 'ticket.created', orgId: 'an org' }))).toBe(EVENT_BYTES);
    expect(Buffer.byteLength(eventJson({ event: 'ticket.created', bytes: 100_000 }))).toBe(100_000);
  });
});

describe('the bodies of ingest requests', () => {
  it('is one where the key says whose the events are', () => {
    expect(ingestBodies({ event: 'ticket.created' }, 2, []).map(orgsOf)).toEqual([[undefined, undefined]]);
  });

  it('go on with the org after the last one, and with the first after all', () => {
    expect(ingestBodies({ event: 'ticket.created' }, 2, ['a', 'b', 'c']).map(orgsOf)).toEqual([
      ['a', 'b'],
      ['c', 'a'],
      ['b', 'c'],
    ]);
    expect(ingestBodies({ event: 'ticket.created' }, 4, ['a', 'b']).map(orgsOf)).toEqual([['a', 'b', 'a', 'b']]);
  });
});
