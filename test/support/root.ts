import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

function checkoutAround(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : checkoutAround(dirname(directory));
}

/** The checkout: the same whether this runs from its sources or from what was built of them. */
export const ROOT = checkoutAround(import.meta.dirname);
