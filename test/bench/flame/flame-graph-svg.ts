import type { Origin } from './code-owner.js';
import type { StackFrame } from './stack-tree.js';

const WIDTH = 1_200;
const ROW = 17;
const MARGIN = 10;
const HEADER = 46;
const FONT_SIZE = 11;
/** Of a monospaced font of that size. */
const CHARACTER_WIDTH = 6.7;
/** Narrower than this is left out. */
const LEAST_WIDTH = 0.4;

const HUES: Readonly<Record<Origin, { readonly hue: number; readonly title: string }>> = {
  own: { hue: 28, title: 'Gapless' },
  package: { hue: 205, title: 'packages' },
  node: { hue: 110, title: "Node's own modules" },
  engine: { hue: 0, title: 'engine and garbage collector' },
};

interface Box {
  readonly frame: StackFrame;
  readonly depth: number;
  readonly x: number;
  readonly width: number;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** The same for the same name, so that two pictures can be compared. */
function lightnessOf(name: string): number {
  let hash = 0;
  for (const character of name) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 997;
  return 62 + (hash % 18);
}

function boxesOf(root: StackFrame): readonly Box[] {
  const scale = root.totalMs === 0 ? 0 : (WIDTH - 2 * MARGIN) / root.totalMs;
  const boxes: Box[] = [];
  const place = (frame: StackFrame, depth: number, x: number) => {
    const width = frame.totalMs * scale;
    if (width < LEAST_WIDTH) return;
    boxes.push({ frame, depth, x, width });
    let left = x;
    // By name, not by size: the same functions have the same order in every picture.
    const children = [...frame.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const child of children) {
      place(child, depth + 1, left);
      left += child.totalMs * scale;
    }
  };
  place(root, 0, MARGIN);
  return boxes;
}

function legend(): string {
  return Object.values(HUES)
    .map(({ hue, title }, index) => {
      const x = WIDTH - MARGIN - 210 * (Object.keys(HUES).length - index);
      return `<rect x="${x}" y="26" width="11" height="11" fill="hsl(${hue},75%,70%)"/><text x="${x + 16}" y="36">${escapeXml(title)}</text>`;
    })
    .join('\n');
}

/**
 * A flame graph as a picture of its own: the width of a box is the CPU time in a function and in what it called, what
 * called it stands below it.
 */
export function flameGraphSvg(root: StackFrame, title: string): string {
  const boxes = boxesOf(root);
  const depths = Math.max(0, ...boxes.map(({ depth }) => depth)) + 1;
  const height = HEADER + depths * ROW + MARGIN;
  const drawn = boxes.map(({ frame, depth, x, width }) => {
    const y = height - MARGIN - (depth + 1) * ROW;
    const share = ((frame.totalMs * 100) / root.totalMs).toFixed(1);
    const fits = Math.floor((width - 4) / CHARACTER_WIDTH);
    const text = frame.name.length <= fits ? frame.name : `${frame.name.slice(0, fits - 1)}…`;
    const label = fits < 3 ? '' : `<text x="${(x + 2).toFixed(1)}" y="${y + 12}">${escapeXml(text)}</text>`;
    const fill = `hsl(${HUES[frame.origin].hue},75%,${lightnessOf(frame.name)}%)`;
    return (
      `<g><title>${escapeXml(frame.name)}: ${frame.totalMs.toFixed(0)} ms, ${share} %</title>` +
      `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 1}" fill="${fill}"/>${label}</g>`
    );
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" ` +
      `font-family="monospace" font-size="${FONT_SIZE}">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="${MARGIN}" y="19" font-size="14">${escapeXml(title)}</text>`,
    legend(),
    ...drawn,
    '</svg>',
    '',
  ].join('\n');
}
