import { expect, it } from '@jest/globals';
import { CALLBACK_URL } from './callback-url.js';

const isTaken = (url: string) => CALLBACK_URL.safeParse(url).success;

it.each(['x', 'é', '€', '😀'])('a callback has a url of at most 2,048 bytes, here of %s', (text) => {
  const begin = 'https://example.com/?';
  const most = Math.floor((2_048 - begin.length) / Buffer.byteLength(text));
  expect([most, most + 1].map((times) => isTaken(begin + text.repeat(times)))).toEqual([true, false]);
});

it.each([' ', '\n', '\u0000', '\u200b', '\ud800'])('a callback has no url with %j', (text) => {
  expect(isTaken(`https://example.com/${text}`)).toBe(false);
});
