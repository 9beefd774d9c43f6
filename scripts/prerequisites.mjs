import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { StepError } from './run-tool.mjs';

const NODE = { major: 20, minor: 19 };
const JAVA_MAJOR = 17;

/** @throws {StepError} when this Node is too old. */
export function checkNode(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > NODE.major || (major === NODE.major && minor >= NODE.minor)) return;
  throw new StepError(
    `Node.js ${NODE.major}.${NODE.minor} or later is needed; this is ${version}. Get it from nodejs.org, or by nvm install.`,
  );
}

/** The java to run Kafka with: of JAVA_HOME if that is set, else of PATH. */
export function javaCommand(env = process.env) {
  return env.JAVA_HOME ? join(env.JAVA_HOME, 'bin', 'java') : 'java';
}

/** Without a locale of UTF-8, Java cannot open files whose paths have other letters than ASCII. */
export function javaEnvironment(env = process.env) {
  return { ...env, LC_ALL: 'C.UTF-8' };
}

/** The Maven to fetch Kafka with: MVN, else of M2_HOME or MAVEN_HOME, else of PATH. */
export function mavenCommand(env = process.env) {
  const home = env.M2_HOME || env.MAVEN_HOME;
  return env.MVN || (home ? join(home, 'bin', 'mvn') : 'mvn');
}

/** The major version that `java -version` prints; `undefined` for anything else. */
export function javaMajor(output) {
  const match = /version "(?:1\.)?(\d+)/.exec(output);
  return match ? Number(match[1]) : undefined;
}

/** @throws {StepError} when there is no Java 17. */
export async function checkJava(env = process.env) {
  const java = javaCommand(env);
  const found = await versionOf(java, ['-version']);
  const major = found === undefined ? undefined : javaMajor(found);
  if (major !== undefined && major >= JAVA_MAJOR) return;
  throw new StepError(
    [
      major === undefined
        ? `Java ${JAVA_MAJOR} or later is needed for the embedded Kafka; ${java} cannot be run.`
        : `Java ${JAVA_MAJOR} or later is needed for the embedded Kafka; ${java} is Java ${major}.`,
      '  Debian, Ubuntu:  apt-get install openjdk-21-jre-headless (Debian 12: openjdk-17-jre-headless)',
      '  macOS:           brew install --cask temurin',
      'or set JAVA_HOME, or set KAFKA_BROKERS to a Kafka of your own: then Java is not needed.',
    ].join('\n'),
  );
}

/** @throws {StepError} when there is no Maven. */
export async function checkMaven(env = process.env) {
  const maven = mavenCommand(env);
  if ((await versionOf(maven, ['--version'])) !== undefined) return;
  throw new StepError(
    [
      `Maven is needed once, to fetch Kafka; ${maven} cannot be run.`,
      '  Debian, Ubuntu:  apt-get install maven',
      '  macOS:           brew install maven',
      'or set MVN to its path, or set KAFKA_BROKERS to a Kafka of your own: then Maven is not needed.',
    ].join('\n'),
  );
}

async function versionOf(command, args) {
  try {
    const { stdout, stderr } = await promisify(execFile)(command, args);
    return stdout + stderr;
  } catch {
    return undefined;
  }
}
