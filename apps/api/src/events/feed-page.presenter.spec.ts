import { describe, expect, it } from '@jest/globals';
import type { Seq } from '#libs/domain';
import { feedPageJson } from './feed-page.presenter.js';

describe('a page of the feed', () => {
  it('holds the stored envelopes byte for byte', () => {
    const envelopes = ['{"seq":1,"data":{"n":1.0,"big":12345678901234567890}}', '{"seq":2,"data":{"ü":"\\u00fc"}}'];
    const page = { envelopes, nextSeq: 2 as Seq, oldestSeq: 1 as Seq, headSeq: 9 as Seq };
    expect(feedPageJson(page)).toBe(`{"data":[${envelopes[0]!},${envelopes[1]!}],"next_seq":2}`);
  });

  it('has next_seq null when there is no more', () => {
    const page = { envelopes: [], nextSeq: null, oldestSeq: 0 as Seq, headSeq: 0 as Seq };
    expect(feedPageJson(page)).toBe('{"data":[],"next_seq":null}');
  });
});
