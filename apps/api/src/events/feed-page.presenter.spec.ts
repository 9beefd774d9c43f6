import { describe, expect, it } from '@jest/globals';
import { aFeedPage } from '../../../../test/support/feed-page.js';
import { eventAt, eventPlaces, feedPageStream } from './feed-page.presenter.js';

describe('a page of the feed', () => {
  it('is streamed with the seq as id and the type as event (contract 5.5)', () => {
    expect(feedPageStream(aFeedPage({ envelopes: ['{"seq":1}', '{"seq":2}'] })).toString()).toBe(
      'id: 1\nevent: ticket.created\ndata: {"seq":1}\n\nid: 2\nevent: ticket.created\ndata: {"seq":2}\n\n',
    );
  });

  it('is streamed whole when the payload was sent with line breaks', () => {
    const text = feedPageStream(aFeedPage({ envelopes: ['{"a":\n1,\r\n"b":\r2}'] })).toString();
    const lines = text.split('\n').filter((line) => line.startsWith('data: '));
    expect(JSON.parse(lines.map((line) => line.slice('data: '.length)).join('\n'))).toEqual({ a: 1, b: 2 });
  });

  it('is read from its stream, event by event', () => {
    const envelopes = ['{"a":"\\ndata: "}', '{"b":\r\n[ 1.0 ]}', '{"ü":"😀"}'];
    const text = feedPageStream(aFeedPage({ envelopes }));
    expect([...eventPlaces(text)].map((at) => eventAt(text, at))).toEqual([
      { seq: 1, event: 'ticket.created', envelope: envelopes[0] },
      { seq: 2, event: 'ticket.created', envelope: '{"b":\n[ 1.0 ]}' },
      { seq: 3, event: 'ticket.created', envelope: envelopes[2] },
    ]);
  });
});
