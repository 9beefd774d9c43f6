import { resolve } from 'node:path';
import type { Environment } from '#libs/runtime';

/** Returns the folder for all data, as an absolute path. A blank DATA_DIR counts as unset, as for every setting. */
export function dataDirOf(environment: Environment): string {
  return resolve(environment['DATA_DIR']?.trim() || '.data');
}
