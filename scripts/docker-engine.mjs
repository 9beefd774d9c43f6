import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { runTool, StepError } from './run-tool.mjs';

const ADVICE = `A Docker engine is needed that answers to \`docker version\`, at DOCKER_HOST if it is set.
As root on Debian or Ubuntu this installs docker.io and starts an engine of its own.`;

/** Images stay here from one run to the next, apart from those of any other engine. */
const DIRECTORY = join(tmpdir(), 'gapless-docker');

const START_TIMEOUT_MS = 60_000;

/**
 * Returns the Docker engine that answers. If none does, it starts one.
 * @typedef {{env: NodeJS.ProcessEnv, stop: () => Promise<void>}} Engine `env` is the environment for processes that use it.
 * @param {(line: string) => void} print
 * @returns {Promise<Engine>}
 * @throws {StepError} if no engine answers and none can be started
 */
export async function dockerEngine(print, env = process.env) {
  if (await answers(env)) return { env, stop: async () => undefined };
  if (process.platform !== 'linux' || process.getuid() !== 0) throw new StepError(ADVICE);
  if (!(await isThere('dockerd'))) {
    print('Installing docker.io …');
    await install('docker.io');
    // In later releases of Debian, the client is a package of its own.
    if (!(await isThere('docker'))) await install('docker-cli');
    // On some machines, the installation starts the engine.
    if (await answers(env)) return { env, stop: async () => undefined };
  }
  print('Starting a Docker engine …');
  return startEngine(env);
}

/**
 * Returns the command of Docker Compose: `docker compose`, or `docker-compose` if the client has no such plugin.
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<readonly string[]>}
 */
export async function composeCommand(env) {
  if (await succeeds('docker', ['compose', 'version'], env)) return ['docker', 'compose'];
  if (await isThere('docker-compose')) return ['docker-compose'];
  if (process.platform !== 'linux' || process.getuid() !== 0) throw new StepError('Docker Compose is needed.');
  await install('docker-compose');
  return ['docker-compose'];
}

async function install(name) {
  const options = { cwd: '/', advice: ADVICE, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  await runTool('apt-get', ['update'], options);
  await runTool('apt-get', ['install', '-y', '--no-install-recommends', name], options);
}

async function startEngine(env) {
  mkdirSync(DIRECTORY, { recursive: true, mode: 0o700 });
  const at = (name) => join(DIRECTORY, name);
  const engineEnv = { ...env, DOCKER_HOST: `unix://${at('docker.sock')}` };
  // An engine that an earlier, killed run left behind.
  if (await answers(engineEnv))
    return { env: engineEnv, stop: () => stopEngine(Number(readFileSync(at('pid'), 'utf8'))) };

  const log = openSync(at('log'), 'w');
  const places = ['--host', `unix://${at('docker.sock')}`, '--pidfile', at('pid')];
  const data = ['--data-root', at('data'), '--exec-root', at('run')];
  // It gets a session of its own, so that Ctrl-C in a terminal does not end it before the containers stop.
  const child = spawn('dockerd', [...places, ...data], { stdio: ['ignore', log, log], detached: true });
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await answers(engineEnv))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await stop();
      const tail = readFileSync(at('log'), 'utf8').trimEnd().split('\n').slice(-20).join('\n');
      throw new StepError(`dockerd does not start:\n${tail}\n\n${ADVICE}`);
    }
    await pause(100);
  }
  return { env: engineEnv, stop };
}

/** Stops an engine that another process started. */
async function stopEngine(pid) {
  process.kill(pid, 'SIGTERM');
  while (existsSync(`/proc/${pid}`)) await pause(100);
}

const answers = (env) => succeeds('docker', ['version'], env);
const isThere = (command) => succeeds('which', [command], process.env);

async function succeeds(command, args, env) {
  try {
    await promisify(execFile)(command, args, { env, timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}
