import { describe, expect, it } from '@jest/globals';
import { flameGraphSvg } from './flame-graph-svg.js';
import type { StackFrame } from './stack-tree.js';

function frame(name: string, totalMs: number, ...children: readonly StackFrame[]): StackFrame {
  return {
    name,
    origin: 'own',
    owner: 'Gapless',
    totalMs,
    children: new Map(children.map((child) => [child.name, child])),
  };
}

function boxes(svg: string): readonly (readonly string[])[] {
  const pattern = /<title>(.*?):.*?<\/title><rect x="(.*?)" y="(.*?)" width="(.*?)"/g;
  return [...svg.matchAll(pattern)].map(([, ...found]) => found);
}

describe('a flame graph', () => {
  it('draws each function as wide as its share, above what called it', () => {
    const svg = flameGraphSvg(frame('all', 100, frame('b', 25), frame('a', 50, frame('c', 50))), 'a thread');
    expect(boxes(svg)).toEqual([
      ['all', '10.0', '80', '1180.0'],
      ['a', '10.0', '63', '590.0'],
      ['c', '10.0', '46', '590.0'],
      ['b', '600.0', '63', '295.0'],
    ]);
  });

  it('leaves out what would not be seen', () => {
    expect(boxes(flameGraphSvg(frame('all', 10_000, frame('a', 1)), 'a thread'))).toHaveLength(1);
  });

  it('cuts a name that does not fit, and escapes it', () => {
    const svg = flameGraphSvg(frame('all', 100, frame('<anonymous> of a very long name', 10)), 'a & b');
    expect(svg).toContain('>&lt;anonymous&gt; of a…</text>');
    expect(svg).toContain('a &amp; b');
  });

  it('is drawn of a thread that did nothing', () => {
    expect(flameGraphSvg(frame('all', 0), 'idle')).toContain('</svg>');
  });
});
