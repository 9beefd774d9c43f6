/** Returns the table of `docs/testing.md`. */
export function toolsTable(root: string): string;
