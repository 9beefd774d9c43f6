import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

function checkoutAround(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : checkoutAround(dirname(directory));
}

/** The folder of the broker's jars (docker/kafka/pom.xml), which the bootstrap fills. */
export const KAFKA_JARS = join(checkoutAround(import.meta.dirname), '.cache/kafka');
