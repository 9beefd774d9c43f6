import { describe, expect, it } from '@jest/globals';
import type { Seq } from '#libs/domain';
import { aFeedPage } from '../../../../../test/support/feed-page.js';
import { FeedPage } from './feed-page.js';

describe('a page of the feed', () => {
  it('holds the stored envelopes byte for byte', () => {
    const envelopes = ['{"seq":1,"data":{"n":1.0,"big":12345678901234567890}}', '{"seq":2,"data":{"ü":"\\u00fc"}}'];
    const { json } = aFeedPage({ envelopes, nextSeq: 2 });
    expect(json.toString()).toBe(`{"data":[${envelopes[0]!},${envelopes[1]!}],"next_seq":2}`);
  });

  it('holds them in their order, in whatever pieces they come', () => {
    const envelopes = ['{"seq":1}', '{"seq":2,"n":"ü"}', '{"seq":3}', '{"seq":4,"n":"😀"}', '{"seq":5}'];
    for (const inPiece of [1, 2, 4, 5]) {
      const page = aFeedPage({ envelopes, inPiece });
      expect(page.json.toString()).toBe(`{"data":[${envelopes.join(',')}],"next_seq":null}`);
      expect(page.items.map(({ seq, envelope }) => [seq, envelope])).toEqual(
        envelopes.map((envelope, place) => [place + 1, envelope]),
      );
    }
  });

  it('has next_seq null and no items when there is no more', () => {
    const page = aFeedPage({ envelopes: [] });
    expect(page.json.toString()).toBe('{"data":[],"next_seq":null}');
    expect(page).toMatchObject({ isEmpty: true, items: [] });
  });

  it('is refused if its bytes are not those that were counted', () => {
    const page = { count: 1, nextSeq: null, oldestSeq: 1 as Seq, headSeq: 9 as Seq, marks: () => [] };
    for (const bytes of [9, 11]) {
      expect(() => new FeedPage({ ...page, pieces: ['{"n":"ü"}'], bytes })).toThrow('others were written');
    }
  });
});
