import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { promisify } from 'node:util';

/** What a command printed, and how it ended. */
export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The output of `docker inspect` for a container, as far as the tests use it. */
export interface Container {
  readonly Id: string;
  readonly State: {
    readonly Status: string;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
    readonly Health?: { readonly Status: string };
  };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly CapDrop: readonly string[] | null;
    readonly SecurityOpt: readonly string[] | null;
    readonly Memory: number;
  };
}

const MAX_OUTPUT_BYTES = 64 * 1_024 * 1_024;

/** Runs a command to its end, whatever its status. */
async function run(command: string, args: readonly string[]): Promise<Outcome> {
  try {
    return { status: 0, ...(await promisify(execFile)(command, args, { maxBuffer: MAX_OUTPUT_BYTES })) };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof code !== 'number') throw error;
    return { status: code, stdout, stderr };
  }
}

/** @throws Error with what it printed when it ended badly */
async function runWell(command: string, args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run(command, args);
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')}: exit status ${status}\n${stdout}\n${stderr}`);
  return stdout;
}

function given(variable: string): string {
  const value = process.env[variable];
  if (value === undefined) throw new Error(`${variable} is not set: these tests are run by npm run test:containers`);
  return value;
}

/** The containers of the compose file that `npm run test:containers` has started. */
export class ComposeProject {
  readonly image = given('GAPLESS_IMAGE');
  readonly #name = given('COMPOSE_PROJECT_NAME');
  readonly #command = given('TEST_COMPOSE_COMMAND').split(' ');

  /** Runs docker. @throws Error when it ends badly */
  async docker(...args: readonly string[]): Promise<string> {
    return runWell('docker', args);
  }

  /** Runs a container of the image that is gone afterwards. */
  async runImage(...args: readonly string[]): Promise<Outcome> {
    return run('docker', ['run', '--rm', ...args]);
  }

  /** The container of a service. */
  async container(service: string): Promise<Container> {
    const filters = [`project=${this.#name}`, `service=${service}`, 'oneoff=False'].flatMap((label) => [
      '--filter',
      `label=com.docker.compose.${label}`,
    ]);
    const [id] = (await this.docker('ps', '--all', '--quiet', ...filters)).trim().split('\n');
    if (id === undefined || id === '') throw new Error(`${service} has no container`);
    const [container] = JSON.parse(await this.docker('inspect', id)) as readonly Container[];
    if (container === undefined) throw new Error(`${service} is gone`);
    return container;
  }

  /** Runs a command within the container of a service. */
  async exec(service: string, ...command: readonly string[]): Promise<Outcome> {
    const { Id } = await this.container(service);
    return run('docker', ['exec', Id, ...command]);
  }

  /** Starts one more container of a service with compose, and leaves it running. */
  startRun(service: string, ...args: readonly string[]): ChildProcess {
    const [command = '', ...first] = this.#command;
    return spawn(command, [...first, 'run', '--rm', '--no-deps', '-T', service, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Ends what is left of containers that were started so. */
  async endRuns(service: string): Promise<void> {
    const labels = [`project=${this.#name}`, `service=${service}`, 'oneoff=True'];
    const filters = labels.flatMap((label) => ['--filter', `label=com.docker.compose.${label}`]);
    const ids = (await this.docker('ps', '--quiet', ...filters)).split('\n').filter((id) => id !== '');
    if (ids.length > 0) await this.docker('stop', ...ids);
  }
}
