import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { it } from '@jest/globals';
import { KAFKA_JARS } from '#libs/embedded-stack';
import { goEnvironment, outsideClientPaths } from '../../scripts/outside-clients.mjs';
import { PATIENCE_MS } from './infrastructure/eventually.js';

export const ROOT = resolve(import.meta.dirname, '../..');
const { kafkaTools, pythonPackages, pythonKafka, hadolint, kubernetesTools, kubernetesSchemas, mcpJudges } =
  outsideClientPaths(ROOT);

export { mcpJudges as MCP_JUDGES };

/** Runs a program to its end. @returns what it wrote to standard output */
export function runProgram(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly timeout?: number } = {},
): Promise<Buffer> {
  return new Promise((settle, reject) => {
    const limits = { encoding: 'buffer' as const, maxBuffer: 64 * 1024 * 1024, timeout: PATIENCE_MS };
    execFile(command, args, { ...limits, ...options }, (error, stdout, stderr) => {
      if (error === null) settle(stdout);
      else reject(new Error(`${command}: ${error.message}\n${stderr.toString()}${stdout.toString()}`));
    });
  });
}

/** Why this machine lacks something that a test is about; undefined if it has it. */
type Lack = string | undefined;

function lackOf(command: string, ...args: readonly string[]): Lack {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0 ? undefined : `${command} is not installed`;
}

function lackOfFile(path: string): Lack {
  return existsSync(path) ? undefined : `${path.slice(ROOT.length + 1)} is not there; npm test fetches it`;
}

/** What each needs of this machine. */
export const LACKS = {
  kcat: lackOf('kcat', '-V'),
  kafkaTools: lackOf('java', '-version') ?? lackOfFile(KAFKA_JARS) ?? lackOfFile(kafkaTools),
  python: lackOf('python3', '--version'),
  pythonStandardWebhooks: lackOf('python3', '--version') ?? lackOfFile(pythonPackages),
  librdkafka: lackOf('python3', '--version') ?? lackOfFile(pythonKafka),
  go: lackOf('go', 'version'),
  java: lackOf('javac', '-version') ?? lackOf('java', '-version') ?? lackOfFile(KAFKA_JARS),
  hadolint: lackOfFile(hadolint),
  kubernetesTools: lackOfFile(kubernetesTools) ?? lackOfFile(kubernetesSchemas),
  mcpJudges: lackOfFile(mcpJudges),
  pythonYaml: lackOf('python3', '-c', 'import yaml') && 'Python’s yaml is not installed',
  php: lackOf('php', '--version'),
  ruby: lackOf('ruby', '--version'),
};

/** The test, or the reason why it is skipped, in its name. */
export function itUnless(lack: Lack, name: string, act: () => Promise<void>, timeoutMs?: number): void {
  if (lack === undefined) it(name, act, timeoutMs);
  else it.skip(`${name} (skipped: ${lack})`, act);
}

/** Runs a main class of Kafka's tools, or of ours beside its libraries. */
export function runJava(mainClass: string, args: readonly string[], classes: string = kafkaTools): Promise<Buffer> {
  const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', `${classes}:${KAFKA_JARS}/*`];
  return runProgram('java', [...flags, mainClass, ...args]);
}

/** @param jar one more beside Kafka's libraries */
export async function compileJava(sources: readonly string[], into: string, jar?: string): Promise<void> {
  const classPath = [...(jar === undefined ? [] : [jar]), `${KAFKA_JARS}/*`].join(':');
  await runProgram('javac', ['-proc:none', '-cp', classPath, '-d', into, ...sources], { cwd: ROOT });
}

/** Compiles the package in the directory, and runs it. */
export async function runGo(directory: string, binary: string, args: readonly string[]): Promise<Buffer> {
  await runProgram('go', ['build', '-o', binary, '.'], { cwd: directory, env: goEnvironment(ROOT) });
  return runProgram(binary, args);
}

export function runPython(script: string, args: readonly string[]): Promise<Buffer> {
  const path = `${pythonPackages}:${pythonKafka}`;
  const env = { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' };
  return runProgram('python3', [join(ROOT, script), ...args], { env });
}
