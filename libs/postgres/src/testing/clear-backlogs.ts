import { Backlogs } from '../projections/backlogs/backlogs.js';
import type { Store } from '../connection/store.js';

/** Does all work that was put off. @returns the number of rows that each chunk changed */
export async function clearBacklogs(store: Store): Promise<readonly number[]> {
  const backlogs = new Backlogs(store);
  const chunks: number[] = [];
  while (Object.values(await backlogs.waiting()).some((count) => count > 0)) {
    for await (const { rows } of backlogs.chunks()) chunks.push(rows);
  }
  return chunks;
}
