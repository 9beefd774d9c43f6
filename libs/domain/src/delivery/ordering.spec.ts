import { describe, expect, it } from '@jest/globals';
import { acknowledgedOf, BATCH_FRAME_BYTES, batchBody, LANES, laneOf } from './ordering.js';

const envelope = (data: unknown) => Buffer.from(JSON.stringify({ data }));

describe('the lane of an event', () => {
  it('is that of its subject, whatever the type and the rest of the event are', () => {
    const created = laneOf('ticket.created', envelope({ id: 'tkt_1', subject: 'one' }));
    expect(laneOf('ticket.updated', envelope({ subject: 'two', id: 'tkt_1' }))).toBe(created);
    expect(laneOf('ticket.reply', envelope({ ticket: { id: 'tkt_1' }, reply: {} }))).toBe(created);
  });

  it('is one of 16, which share the subjects evenly', () => {
    const counts = Array<number>(LANES).fill(0);
    for (let nth = 0; nth < 1_600; nth++) counts[laneOf('ticket.created', envelope({ id: `tkt_${nth}` }))]!++;
    for (const count of counts) expect(Math.abs(count - 100)).toBeLessThan(50);
  });

  it('is that of its type without a subject', () => {
    expect(laneOf('ticket.created', envelope({}))).toBe(laneOf('ticket.created', envelope({ id: '' })));
    expect(laneOf('test', envelope({ endpoint_id: 'a' }))).toBe(laneOf('test', envelope({ endpoint_id: 'b' })));
  });
});

it('a batch has the bytes of each envelope unchanged', () => {
  const envelopes = [Buffer.from('{"n": 1.0}'), Buffer.from('{"t":"ä"}')];
  const body = batchBody(envelopes);
  expect(body.toString()).toBe('{"events":[{"n": 1.0},{"t":"ä"}]}');
  expect(body.length).toBe(BATCH_FRAME_BYTES + envelopes[0]!.length + 1 + envelopes[1]!.length);
});

describe('an answer to a batch', () => {
  const seqs = [4, 7, 9];

  it.each([
    ['nothing', '', 3],
    ['a text', 'ok', 3],
    ['another object', '{"ok":true}', 3],
    ['a text about it', 'acknowledged_through', 3],
    ['a part', '{"acknowledged_through":7}', 2],
    ['a seq in between', '{"acknowledged_through":8}', 2],
    ['the last', '{"acknowledged_through":9}', 3],
    ['a seq after the last', '{"acknowledged_through":1000}', 3],
    ['a seq before the first', '{"acknowledged_through":3}', 0],
    ['no number', '{"acknowledged_through":"7"}', 0],
    ['null', '{"acknowledged_through":null}', 0],
    ['a fraction', '{"acknowledged_through":7.5}', 0],
    ['a negative number', '{"acknowledged_through":-7}', 0],
    ['more than a double holds', '{"acknowledged_through":1e400}', 0],
    ['more than the largest exact integer', '{"acknowledged_through":9007199254740993}', 0],
    ['true', '{"acknowledged_through":true}', 0],
    ['a list', '{"acknowledged_through":[7]}', 0],
    ['an integer in another form', '{"acknowledged_through":0.7e1}', 2],
    ['its name in another form', '{"acknowledged\\u005fthrough":7}', 2],
    ['a list of objects', '[{"acknowledged_through":7}]', 3],
    ['an object in it', '{"result":{"acknowledged_through":7}}', 3],
    ['half an object', '{"acknowledged_through":7', 3],
    ['the number alone', '7', 3],
  ])('that has %s accepts so many events: %s', (_case, answer, count) => {
    expect(acknowledgedOf(seqs, answer)).toBe(count);
  });
});
