import { describe, expect, it } from '@jest/globals';
import type { Seq } from '#libs/domain';
import { ENVELOPE_SEPARATOR, FeedPage } from '#libs/postgres';
import { eventAt, eventPlaces, feedPageJson, feedPageStream } from './feed-page.presenter.js';

/** @param inPiece how many envelopes come in a piece */
function aPage(envelopes: readonly string[], nextSeq: number | null = null, inPiece = 2): FeedPage {
  const pieces = envelopes.flatMap((_, place) =>
    place % inPiece === 0 ? [envelopes.slice(place, place + inPiece).join(ENVELOPE_SEPARATOR)] : [],
  );
  return new FeedPage({
    count: envelopes.length,
    nextSeq: nextSeq as Seq | null,
    oldestSeq: 1 as Seq,
    headSeq: 9 as Seq,
    pieces,
    bytes: Buffer.byteLength(envelopes.join('')),
    marks: () => envelopes.map((_, index) => ({ seq: (index + 1) as Seq, event: 'ticket.created' })),
  });
}

describe('a page of the feed', () => {
  it('holds the stored envelopes byte for byte', () => {
    const envelopes = ['{"seq":1,"data":{"n":1.0,"big":12345678901234567890}}', '{"seq":2,"data":{"ü":"\\u00fc"}}'];
    expect(feedPageJson(aPage(envelopes, 2)).toString()).toBe(
      `{"data":[${envelopes[0]!},${envelopes[1]!}],"next_seq":2}`,
    );
  });

  it('holds them in their order, in whatever pieces they come', () => {
    const envelopes = ['{"seq":1}', '{"seq":2,"n":"ü"}', '{"seq":3}', '{"seq":4,"n":"😀"}', '{"seq":5}'];
    for (const inPiece of [1, 2, 4, 5]) {
      const page = aPage(envelopes, null, inPiece);
      expect(feedPageJson(page).toString()).toBe(`{"data":[${envelopes.join(',')}],"next_seq":null}`);
      expect(page.items.map(({ envelope }) => envelope)).toEqual(envelopes);
    }
  });

  it('is refused if its bytes are not those that were counted', () => {
    const page = { count: 1, nextSeq: null, oldestSeq: 1 as Seq, headSeq: 9 as Seq, marks: () => [] };
    expect(() => feedPageJson(new FeedPage({ ...page, pieces: ['{"n":"ü"}'], bytes: 9 }))).toThrow('others were written');
    expect(() => feedPageJson(new FeedPage({ ...page, pieces: ['{"n":"ü"}'], bytes: 11 }))).toThrow('others were written');
  });

  it('has next_seq null when there is no more', () => {
    expect(feedPageJson(aPage([])).toString()).toBe('{"data":[],"next_seq":null}');
  });

  it('is streamed with the seq as id and the type as event (contract 5.5)', () => {
    expect(feedPageStream(aPage(['{"seq":1}', '{"seq":2}'])).toString()).toBe(
      'id: 1\nevent: ticket.created\ndata: {"seq":1}\n\nid: 2\nevent: ticket.created\ndata: {"seq":2}\n\n',
    );
  });

  it('is streamed whole when the payload was sent with line breaks', () => {
    const text = feedPageStream(aPage(['{"a":\n1,\r\n"b":\r2}'])).toString();
    const lines = text.split('\n').filter((line) => line.startsWith('data: '));
    expect(JSON.parse(lines.map((line) => line.slice('data: '.length)).join('\n'))).toEqual({ a: 1, b: 2 });
  });

  it('is read from its stream, event by event', () => {
    const envelopes = ['{"a":"\\ndata: "}', '{"b":\r\n[ 1.0 ]}', '{"ü":"😀"}'];
    const text = feedPageStream(aPage(envelopes));
    expect([...eventPlaces(text)].map((at) => eventAt(text, at))).toEqual([
      { seq: 1, event: 'ticket.created', envelope: envelopes[0] },
      { seq: 2, event: 'ticket.created', envelope: '{"b":\n[ 1.0 ]}' },
      { seq: 3, event: 'ticket.created', envelope: envelopes[2] },
    ]);
  });
});
