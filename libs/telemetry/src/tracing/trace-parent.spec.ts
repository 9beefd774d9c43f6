import { describe, expect, it } from '@jest/globals';
import { childTraceParent, isSampled, parseTraceParent } from './trace-parent.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SEEDS = { trace: 'evt_1', span: 'sequence/evt_1', beginsSampled: true };

describe('parseTraceParent', () => {
  it('reads a traceparent of version 00', () => {
    const parsed = parseTraceParent(`00-${TRACE}-b7ad6b7169203331-01`);
    expect(parsed).toEqual({ traceId: TRACE, spanId: 'b7ad6b7169203331', flags: '01' });
    expect(isSampled(parsed!)).toBe(true);
    expect(isSampled({ ...parsed!, flags: '02' })).toBe(false);
  });

  it.each([
    null,
    '',
    TRACE,
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `01-${TRACE}-b7ad6b7169203331-01`,
    `00-${TRACE.toUpperCase()}-b7ad6b7169203331-01`,
  ])('takes %p for none', (text) => {
    expect(parseTraceParent(text)).toBeUndefined();
  });
});

describe('childTraceParent', () => {
  it('goes on with the trace and its sampling, as a span of its own', () => {
    const child = childTraceParent(`00-${TRACE}-b7ad6b7169203331-00`, SEEDS);
    expect(child).toMatch(new RegExp(`^00-${TRACE}-(?!b7ad6b7169203331)[0-9a-f]{16}-00$`));
  });

  it('is the same each time, and another for another seed', () => {
    const parent = `00-${TRACE}-b7ad6b7169203331-01`;
    expect(childTraceParent(parent, SEEDS)).toBe(childTraceParent(parent, SEEDS));
    expect(childTraceParent(parent, SEEDS)).not.toBe(childTraceParent(parent, { ...SEEDS, span: 'route/evt_1' }));
  });

  it('begins a trace where there is none', () => {
    const [one, other] = [
      childTraceParent(null, SEEDS),
      childTraceParent('nonsense', { ...SEEDS, beginsSampled: false }),
    ];
    expect(parseTraceParent(one)).toMatchObject({ flags: '01' });
    expect(parseTraceParent(other)).toMatchObject({ flags: '00', traceId: parseTraceParent(one)!.traceId });
  });
});
