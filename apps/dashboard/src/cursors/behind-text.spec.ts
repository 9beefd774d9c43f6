import { describe, expect, it } from '@jest/globals';
import { behindText } from './behind-text.js';

describe('how far a reader is behind', () => {
  it.each([
    [0, 0, 'Caught up'],
    [1, 0, '1 event behind'],
    [1_234, 0, '1,234 events behind'],
    [1_234, 1_000, '1,234 events behind, 1,000 of them gone'],
  ])('by %i events, %i of them removed', (behind, lost, text) => {
    expect(behindText({ behind, lost })).toBe(text);
  });
});
