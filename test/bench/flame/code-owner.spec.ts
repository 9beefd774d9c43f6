import { describe, expect, it } from '@jest/globals';
import { answeringFor, originOf, ownerOf } from './code-owner.js';

function owner(url: string, functionName = 'f'): string {
  return ownerOf({ functionName, url });
}

describe('the owner of code', () => {
  it('is the innermost package, or Gapless', () => {
    expect(owner('file:///x/node_modules/a/node_modules/@b/c/index.js')).toBe('@b/c');
    expect(owner('/x/libs/domain/src/index.ts')).toBe('Gapless');
  });

  it('answers for what Node and the engine do for it, WebAssembly included', () => {
    const answering = (url: string) =>
      answeringFor({ origin: originOf({ url }), owner: owner(url, 'write') }, 'its caller');
    expect(['node:net', '', 'wasm://wasm/0002f80e'].map(answering)).toEqual(Array(3).fill('its caller'));
    expect(answering('/x/node_modules/pg/lib/query.js')).toBe('pg');
  });
});
