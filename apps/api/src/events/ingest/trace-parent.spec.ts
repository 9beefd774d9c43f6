import { describe, expect, it } from '@jest/globals';
import { traceParentOf } from './trace-parent.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

describe('the trace of a request', () => {
  it('is the caller’s', () => {
    expect(traceParentOf(`00-${TRACE}-${PARENT}-01`)).toBe(`00-${TRACE}-${PARENT}-01`);
  });

  it('is passed on as version 00 when the caller’s version is a later one', () => {
    expect(traceParentOf(`01-${TRACE}-${PARENT}-00-more`)).toBe(`00-${TRACE}-${PARENT}-00`);
  });

  it.each([
    undefined,
    '',
    ['a', 'b'],
    `00-${TRACE}-${PARENT}`,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01\r\nx: y`,
  ])('is a new one instead of %p', (header) => {
    const made = traceParentOf(header);
    expect(made).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(made).not.toContain(TRACE);
  });
});
