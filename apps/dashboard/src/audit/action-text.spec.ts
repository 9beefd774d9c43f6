import { describe, expect, it } from '@jest/globals';
import { detailTexts } from './action-text.js';

describe('detailTexts', () => {
  it('has a text for every value', () => {
    expect(
      detailTexts({ changed: ['name', 'url', 'widget_ids'], url: 'https://example.com/', until: null, on: false }),
    ).toEqual([
      ['changed', 'name, URL, widget IDs'],
      ['URL', 'https://example.com/'],
      ['on', 'false'],
    ]);
    expect(detailTexts({})).toEqual([]);
  });

  it('names each member of an object', () => {
    expect(
      detailTexts({ delivery: { maxPerSecond: 5, urgent: null, ordering: { by: 'subject', batch: 100 } } }),
    ).toEqual([
      ['delivery max per second', '5'],
      ['delivery ordering by', 'subject'],
      ['delivery ordering batch', '100'],
    ]);
  });
});
