export interface Column {
  readonly title: string;
  readonly align: 'left' | 'right';
}

/** Lines with aligned columns, the titles above them if there are any; nothing trails. */
export function textTable(columns: readonly Column[], rows: readonly (readonly string[])[]): readonly string[] {
  const titles = columns.map(({ title }) => title);
  const lines = titles.every((title) => title === '') ? rows : [titles, ...rows];
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => cells[index]?.length ?? 0)));
  return lines.map((cells) =>
    cells
      .map((cell, index) =>
        columns[index]?.align === 'right' ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}
