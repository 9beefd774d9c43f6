/** Returns a table as prettier formats it: cells padded to the width of their column. */
export function markdownTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headers.map((header, column) =>
    Math.max(3, header.length, ...rows.map((row) => cell(row, column).length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => cell(cells, column).padEnd(width)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(headers), rule, ...rows.map(line)].join('\n');
}

function cell(row: readonly string[], column: number): string {
  return (row[column] ?? '').replaceAll('|', '\\|');
}

/**
 * Replaces the text between the markers of that name.
 * @throws Error when the markers are missing
 */
export function replaceMarked(text: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}: begin; npm run generate writes it -->`, `<!-- ${name}: end -->`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`the markers of ${name} are missing`);
  return `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`;
}
