import type { Statement } from './statement.js';
import type { Tables } from './tables.js';

export function offsetKey(projection: unknown, topic: unknown, partition: unknown): string {
  return `${String(projection)} ${String(topic)}/${String(partition)}`;
}

/** Carries out the compare-and-set that each statement of a projection begins with. @returns whether the offset moved */
export function moveOffset(tables: Tables, statement: Statement, parameters: readonly unknown[]): boolean {
  const [, movedPlace] = /next_offset = \(\$(\d+)::text\[\]\)\[1\]/.exec(statement.sql) ?? [];
  const [next, anchor] = parameters[Number(movedPlace) - 1] as readonly [string, string | null];
  const where = statement.assigned(parameters, 'where projection', 'returning');
  const [, projectionPlace] = /where projection = \$(\d+)/.exec(statement.sql) ?? [];
  const key = offsetKey(parameters[Number(projectionPlace) - 1], where['topic'], where['partition']);
  const row = tables.offsets.get(key);
  if (row === undefined || row.next_offset !== Number(where['next_offset'])) return false;
  tables.offsets.set(key, { ...row, anchor, next_offset: Number(next) });
  return true;
}
