import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { withPatience } from './with-patience.js';

async function* texts(...all: readonly string[]): AsyncGenerator<string, void, undefined> {
  for (const text of all) yield await Promise.resolve(text);
}

describe('withPatience', () => {
  it('hands everything on to a reader that reads', async () => {
    const read: string[] = [];
    for await (const text of withPatience(texts('a', 'b', 'c'), 60_000, () => read.push('given up'))) read.push(text);
    expect(read).toEqual(['a', 'b', 'c']);
  });

  it('gives up on a reader that does not, and closes its source', async () => {
    let isClosed = false;
    async function* source() {
      try {
        yield* texts('a', 'b');
      } finally {
        isClosed = true;
      }
    }
    await new Promise<void>((resolve) => {
      const stream = Readable.from(
        withPatience(source(), 5, () => {
          stream.destroy();
        }),
        { highWaterMark: 1 },
      );
      stream.once('close', resolve);
      stream.once('readable', () => undefined);
    });
    expect(isClosed).toBe(true);
  });
});
