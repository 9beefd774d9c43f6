import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';
import { containerBases } from './container-bases.mjs';
import { composeCommand, dockerEngine } from './docker-engine.mjs';
import { countTests, jest, runNode } from './jest-run.mjs';
import { runTool, StepError } from './run-tool.mjs';

const PHASES = ['compose', 'integration'];

const HELP = `npm run test:containers                   everything below
npm run test:containers -- <phase> [args]    one phase; the arguments go to jest

compose      builds the images, starts docker/compose.yaml, and uses it as the README does, through restarts
integration  runs the integration tests with Kafka and Postgres in containers

A Docker engine that answers is used as it is; else, as root on Debian, one is installed and started for the time being.
Where images cannot be pulled, the base is made of Debian's and npm's packages.
KAFKA_IMAGE and POSTGRES_IMAGE name images to take instead of those of docker/kafka and docker/postgres.`;

const PROJECT = 'gapless-test';

async function timed(title, act) {
  const began = performance.now();
  console.log(`${title} …`);
  const result = await act();
  console.log(`${title}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return result;
}

/** Builds what is not given. @returns the names of all images */
async function buildImages(env) {
  const bases = await containerBases({ root: ROOT, env, print: console.log });
  const build = (tag, dockerfile, context, args) => {
    const given = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
    const advice = 'Fix the Dockerfile, or check that the package registries can be reached, then run this again.';
    return timed(`Building ${tag}`, () =>
      runTool('docker', ['build', '--file', dockerfile, '--tag', tag, ...given, context], { cwd: ROOT, env, advice }),
    );
  };
  const images = {
    GAPLESS_IMAGE: `${PROJECT}-gapless`,
    KAFKA_IMAGE: env.KAFKA_IMAGE || `${PROJECT}-kafka`,
    POSTGRES_IMAGE: env.POSTGRES_IMAGE || `${PROJECT}-postgres`,
  };
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const own = { BASE_IMAGE: bases.node, RUNTIME_IMAGE: bases.debian, VERSION: version };
  await build(images.GAPLESS_IMAGE, 'docker/Dockerfile', '.', own);
  if (!env.KAFKA_IMAGE) {
    await build(images.KAFKA_IMAGE, 'docker/kafka/Dockerfile', 'docker/kafka', { BASE_IMAGE: bases.debian });
  }
  if (!env.POSTGRES_IMAGE) {
    await build(images.POSTGRES_IMAGE, 'docker/postgres/Dockerfile', 'docker/postgres', { BASE_IMAGE: bases.node });
  }
  return images;
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Runs `act` on a fresh start of what docker/compose.yaml describes; nothing of it is left. */
async function withCompose(env, act) {
  const command = await composeCommand(env);
  const project = {
    ...env,
    COMPOSE_PROJECT_NAME: PROJECT,
    COMPOSE_FILE: join(ROOT, 'docker/compose.yaml'),
    GAPLESS_PORT: String(await freePort()),
    TEST_COMPOSE_COMMAND: command.join(' '),
  };
  const [name, ...first] = command;
  const compose = (...args) =>
    runTool(name, [...first, ...args], { cwd: ROOT, env: project, advice: 'See docker logs of the containers.' });
  const remove = () => compose('down', '--volumes', '--remove-orphans');
  await remove();
  try {
    await timed('Starting docker/compose.yaml', () => compose('up', '--detach'));
    return await act(project);
  } finally {
    await timed('Removing it', remove);
  }
}

await runMain(async () => {
  const [wanted, ...extra] = process.argv.slice(2);
  if (wanted === '--help' || wanted === '-h') return console.log(HELP);
  const phases = PHASES.filter((name) => wanted === undefined || name === wanted);
  if (phases.length === 0) throw new StepError(`There is no phase "${wanted}".\n\n${HELP}`);

  // Some integration tests are about the embedded broker itself.
  await bootstrap({ build: true, embeddedKafka: phases.includes('integration') });
  const reports = mkdtempSync(join(tmpdir(), 'gapless-reports-'));
  const total = { passed: 0, failed: 0 };
  const runJest = async (project, env) => {
    console.log(`\n=== ${project}`);
    const reportFile = join(reports, `${project}.json`);
    const good = await runNode(ROOT, [...jest(ROOT, project), '--json', `--outputFile=${reportFile}`, ...extra], env);
    const { passed, failed } = countTests(reportFile);
    total.passed += passed;
    // A set-up that failed is a failure, too.
    total.failed += good ? failed : Math.max(failed, 1);
  };

  const engine = await dockerEngine(console.log);
  try {
    const images = await buildImages(engine.env);
    const env = { ...engine.env, ...images };
    if (phases.includes('compose')) await withCompose(env, (project) => runJest('containers', project));
    if (phases.includes('integration')) {
      await runJest('integration', {
        ...env,
        TEST_INFRA: 'containers',
        TEST_KAFKA_IMAGE: images.KAFKA_IMAGE,
        TEST_POSTGRES_IMAGE: images.POSTGRES_IMAGE,
        // Its image cannot be pulled everywhere; the tests remove what they start.
        TESTCONTAINERS_RYUK_DISABLED: 'true',
      });
    }
  } finally {
    await engine.stop();
    rmSync(reports, { recursive: true, force: true });
  }
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
  if (total.failed > 0) process.exitCode = 1;
});
