import { describe, expect, it } from '@jest/globals';
import { detailsText } from './action-text.js';

describe('detailsText', () => {
  it('has every value on one line', () => {
    expect(detailsText({ changed: ['name', 'url'], url: 'https://example.com/', until: null, on: false })).toBe(
      'changed: name, url · url: https://example.com/ · on: false',
    );
    expect(detailsText({})).toBe('');
  });
});
