import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkMaven, mavenCommand } from './prerequisites.mjs';
import { runTool } from './run-tool.mjs';

/** @param {string} root */
export const kafkaJarsDir = (root) => join(root, '.cache/kafka-4.3.1');

/** @param {string} root */
export const kafkaJarsAreThere = (root) => existsSync(kafkaJarsDir(root));

/**
 * The classes that a broker loads, as its JVM keeps them in memory: with them it starts in half the time. A broker looks
 * for them by the name of its jars.
 * @param {string} root
 */
export const kafkaClasses = (root) => `${kafkaJarsDir(root)}.jsa`;

/**
 * Fetches the jars of docker/kafka/pom.xml into a directory beside the final one, then renames: a fetch that was cut
 * short leaves nothing that looks whole.
 * @param {string} root
 */
export async function fetchKafkaJars(root) {
  await checkMaven();
  const cache = join(root, '.cache');
  mkdirSync(cache, { recursive: true });
  for (const left of readdirSync(cache).filter((name) => name.startsWith('fetching-'))) {
    rmSync(join(cache, left), { recursive: true, force: true });
  }
  // Readable to all: the user who runs Gapless need not be the one who fetched.
  const draft = join(cache, `fetching-${process.pid}`);
  mkdirSync(draft, { mode: 0o755 });
  const goal = ['-B', '-q', '-f', join(root, 'docker/kafka/pom.xml'), 'dependency:copy-dependencies'];
  await runTool(mavenCommand(), [...goal, '-DincludeScope=runtime', `-DoutputDirectory=${draft}`], {
    cwd: root,
    advice:
      'Check that Maven Central, or the mirror in ~/.m2/settings.xml, can be reached, then run the command again.',
  });
  // They are of other jars.
  rmSync(kafkaClasses(root), { force: true });
  if (!kafkaJarsAreThere(root)) renameSync(draft, kafkaJarsDir(root));
}
