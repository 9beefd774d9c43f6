import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { kafkaVersion } from './kafka-jars.mjs';
import { mavenCommand } from './prerequisites.mjs';
import { runTool } from './run-tool.mjs';

const STANDARD_WEBHOOKS_PYTHON = 'standardwebhooks==1.1.0';
/** It holds librdkafka. */
const KAFKA_PYTHON = 'confluent-kafka==2.12.2';

/** What the tests look at Gapless with from outside: where it is kept. Beside the jars of the broker. */
export const outsideClientPaths = (root) => ({
  kafkaTools: join(root, `.cache/kafka-tools/kafka-tools-${kafkaVersion(root)}.jar`),
  pythonPackages: join(root, '.cache/standardwebhooks-1.1.0'),
  pythonKafka: join(root, '.cache/confluent-kafka-2.12.2'),
  go: join(root, '.cache/go'),
});

async function answers(command, ...args) {
  try {
    await promisify(execFile)(command, args);
    return true;
  } catch {
    return false;
  }
}

/** Fetches into a directory beside the final one, then renames: what was cut short leaves nothing that looks whole. */
async function fetchInto(directory, fetch) {
  const draft = `${directory}-fetching-${process.pid}`;
  mkdirSync(dirname(directory), { recursive: true });
  try {
    await fetch(draft);
    renameSync(draft, directory);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** With the modules and what is compiled kept by us, and no newer Go fetched than there is. */
export const goEnvironment = (root) => ({
  ...process.env,
  GOTOOLCHAIN: 'local',
  GOFLAGS: '-modcacherw',
  GOMODCACHE: join(outsideClientPaths(root).go, 'mod'),
  GOCACHE: join(outsideClientPaths(root).go, 'build'),
});

/**
 * Brings what the tests look at Gapless with from outside, as far as this machine can have it: the tests skip what is
 * not there, and say so. So nothing here fails: what is missing is printed.
 * @param {string} root
 * @param {(line: string) => void} print
 */
export async function bringOutsideClients(root, print) {
  const { kafkaTools, pythonPackages, pythonKafka, go } = outsideClientPaths(root);
  const options = { cwd: root, advice: '' };
  const steps = [
    {
      name: 'kcat',
      isDone: () => answers('kcat', '-V'),
      canBe: async () => process.getuid?.() === 0 && (await answers('apt-get', '--version')),
      act: async () => {
        const install = ['install', '-y', '--no-install-recommends', 'kcat'];
        const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
        // The lists of packages are old, or not there yet, on many a machine.
        await runTool('apt-get', install, { ...options, env }).catch(async () => {
          await runTool('apt-get', ['update'], { ...options, env });
          await runTool('apt-get', install, { ...options, env });
        });
      },
    },
    {
      name: "Kafka's command line tools",
      isDone: () => existsSync(kafkaTools),
      canBe: () => answers(mavenCommand(), '--version'),
      act: () =>
        fetchInto(dirname(kafkaTools), (draft) =>
          runTool(
            mavenCommand(),
            [
              '-B',
              '-q',
              'dependency:copy',
              `-Dartifact=org.apache.kafka:kafka-tools:${kafkaVersion(root)}`,
              `-DoutputDirectory=${draft}`,
            ],
            options,
          ),
        ),
    },
    ...[
      { name: 'Standard Webhooks for Python', directory: pythonPackages, requirement: STANDARD_WEBHOOKS_PYTHON },
      { name: 'librdkafka for Python', directory: pythonKafka, requirement: KAFKA_PYTHON },
    ].map(({ name, directory, requirement }) => ({
      name,
      isDone: () => existsSync(directory),
      canBe: () => answers('python3', '-m', 'pip', '--version'),
      act: () =>
        fetchInto(directory, (draft) =>
          runTool(
            'python3',
            ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary=:all:', '--target', draft, requirement],
            options,
          ),
        ),
    })),
    {
      name: 'Standard Webhooks for Go',
      isDone: () => existsSync(join(go, 'standardwebhooks')),
      canBe: () => answers('go', 'version'),
      // Compiled once here; what the tests compile again is taken from the cache.
      act: () =>
        runTool('go', ['build', '-o', join(go, 'standardwebhooks'), '.'], {
          ...options,
          cwd: join(root, 'test/recipes/go/standardwebhooks'),
          env: goEnvironment(root),
        }),
    },
  ];
  for (const { name, isDone, canBe, act } of steps) {
    if ((await isDone()) || !(await canBe())) continue;
    print(`Fetching ${name} …`);
    try {
      await act();
    } catch (error) {
      print(`${name} cannot be had, so the tests with it are skipped:\n${error.message.trim()}`);
    }
  }
}
