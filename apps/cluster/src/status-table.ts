/** A line of the table: a process, or a server. */
export interface StatusRow {
  readonly name: string;
  /** Empty for a process that belongs to no set. */
  readonly set: string;
  readonly pid: number | undefined;
  readonly address: string;
  readonly state: string;
}

const HEADINGS = ['process', 'set', 'pid', 'address', 'state'];

/** Returns the rows as a table of text. */
export function statusTable(rows: readonly StatusRow[]): string {
  const cells = [
    HEADINGS,
    ...rows.map(({ name, set, pid, address, state }) => [
      name,
      set,
      pid === undefined ? '' : String(pid),
      address,
      state,
    ]),
  ];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}
