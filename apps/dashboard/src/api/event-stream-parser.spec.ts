import { describe, expect, it } from '@jest/globals';
import { EventStreamParser, type StreamedEvent } from './event-stream-parser.js';

function parsed(...pieces: readonly string[]): readonly StreamedEvent[] {
  const events: StreamedEvent[] = [];
  const parser = new EventStreamParser((event) => events.push(event));
  for (const piece of pieces) parser.take(piece);
  return events;
}

describe('a stream of events', () => {
  const text = ': hello\n\nevent: ticket.created\nid: 7\ndata: {"a": "b: c"}\n\nid:8\r\ndata:one\r\ndata: two\r\n\r\n';
  const events = [
    { type: 'ticket.created', data: '{"a": "b: c"}', lastEventId: '7' },
    { type: 'message', data: 'one\ntwo', lastEventId: '8' },
  ];

  it('has a type, an id and data', () => {
    expect(parsed(text)).toEqual(events);
  });

  it('is the same wherever its pieces end', () => {
    for (let at = 0; at <= text.length; at++) expect(parsed(text.slice(0, at), text.slice(at))).toEqual(events);
    expect(parsed(...Array.from(text))).toEqual(events);
  });

  it('has no event before its empty line, nor one without data', () => {
    expect(parsed('data: a\n', 'event: b\n')).toEqual([]);
    expect(parsed('event: b\nid: 1\n\n')).toEqual([]);
  });

  it('has positions without an event, after which it resumes', () => {
    expect(parsed('retry: 2000\n\nid: 10\n\n')).toEqual([]);
    expect(parsed('id: 10\n\n', 'data: a\n\n')).toEqual([{ type: 'message', data: 'a', lastEventId: '10' }]);
  });
});
