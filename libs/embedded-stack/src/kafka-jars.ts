import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

function checkoutAround(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : checkoutAround(dirname(directory));
}

/** The broker's jars (docker/kafka/pom.xml), where the bootstrap puts them. */
export const KAFKA_JARS = join(checkoutAround(import.meta.dirname), '.cache/kafka');
