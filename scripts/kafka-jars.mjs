import { copyFileSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeDraft } from './draft.mjs';
import { checkMaven, javaEnvironment, mavenCommand } from './prerequisites.mjs';
import { runTool } from './run-tool.mjs';

const POM = 'docker/kafka/pom.xml';

/** @param {string} root */
const pomOf = (root) => readFileSync(join(root, POM), 'utf8');

/**
 * The version of Kafka, from docker/kafka/pom.xml.
 * @param {string} root
 */
export function kafkaVersion(root) {
  const version = /<artifactId>kafka_[\d.]+<\/artifactId>\s*<version>([^<]+)</.exec(pomOf(root))?.[1];
  if (version === undefined) throw new Error(`${POM} names no version of Kafka`);
  return version;
}

/** @param {string} root */
export const kafkaJarsDir = (root) => join(root, '.cache/kafka');

/**
 * Whether the jars are those of docker/kafka/pom.xml: a copy of it lies beside them.
 * @param {string} root
 */
export function kafkaJarsAreThere(root) {
  const copy = join(kafkaJarsDir(root), 'pom.xml');
  return existsSync(copy) && readFileSync(copy, 'utf8') === pomOf(root);
}

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
  const draft = makeDraft(join(root, '.cache'), 'fetching');
  try {
    await fetchInto(draft, root);
    // Another start may have fetched the same meanwhile.
    if (kafkaJarsAreThere(root)) return;
    // They are of other jars.
    rmSync(kafkaClasses(root), { force: true });
    rmSync(kafkaJarsDir(root), { recursive: true, force: true });
    renameSync(draft, kafkaJarsDir(root));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * @param {string} draft
 * @param {string} root
 */
async function fetchInto(draft, root) {
  const goal = ['-B', '-q', '-f', join(root, POM), 'dependency:copy-dependencies'];
  const advice = [
    'Check that Maven Central, or the mirror in ~/.m2/settings.xml, can be reached, then run the command again.',
    ...(process.env.HTTPS_PROXY || process.env.https_proxy
      ? ['Maven does not read HTTPS_PROXY: name the proxy in <proxies> of ~/.m2/settings.xml.']
      : []),
  ];
  await runTool(mavenCommand(), [...goal, '-DincludeScope=runtime', `-DoutputDirectory=${draft}`], {
    cwd: root,
    env: javaEnvironment(),
    advice: advice.join('\n'),
  });
  copyFileSync(join(root, POM), join(draft, 'pom.xml'));
}
