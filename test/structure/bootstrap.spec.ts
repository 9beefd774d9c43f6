import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { identifyProcess } from '../../libs/embedded-stack/src/processes/process-identity.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { ROOT } from '../support/root.js';

let root: string;
const started: number[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gapless-bootstrap-'));
});

afterEach(() => {
  for (const pid of started.splice(0)) if (identifyProcess(pid) !== undefined) process.kill(pid, 'SIGKILL');
  rmSync(root, { recursive: true, force: true });
});

/** Writes a program for `PATH`, or for the `JAVA_HOME`. */
function program(name: string, script: string): void {
  mkdirSync(join(root, 'bin'), { recursive: true });
  writeFileSync(join(root, 'bin', name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(root, 'bin', name), 0o755);
}

/** Runs code that has these functions of a script, and `root`. */
function run(script: string, functions: string, code: string, environment: NodeJS.ProcessEnv = {}): ChildProcess {
  const source = `
    import { ${functions} } from ${JSON.stringify(join(ROOT, 'scripts', script))};
    const root = ${JSON.stringify(root)};
    ${code}`;
  const env = { PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}`, JAVA_HOME: root, ...environment };
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child.pid!);
  return child;
}

/** Lets `hasStarted` ask whether the functions of Node that start a process have returned, once that process runs. */
const ANSWERS = "process.on('SIGUSR2', () => console.log('it goes on'));";

/** A child can run before the process that starts it knows of it. */
async function hasStarted(parent: ChildProcess): Promise<void> {
  const goesOn = new Promise<void>((resolve) => {
    parent.stdout!.on('data', (text) => {
      if (String(text).includes('it goes on')) resolve();
    });
  });
  parent.kill('SIGUSR2');
  await goesOn;
}

async function outputOf(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) child[name]!.on('data', (text) => (texts[name] += String(text)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...texts };
}

describe('the archive of the classes of Kafka', () => {
  const archive = (before = '') =>
    run('kafka-classes.mjs', 'archiveKafkaClasses', `${before} await archiveKafkaClasses(root);`);

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)('leaves no broker behind after %s', async (signal) => {
    program('java', `case "$*" in *StorageTool*) exit 0; esac\necho $$ > ${root}/broker\nexec sleep 600`);
    const child = archive(ANSWERS);
    const broker = await eventually(() => {
      const pid = Number(readFileSync(join(root, 'broker'), 'utf8'));
      if (pid === 0) throw new Error('it does not run yet');
      return pid;
    });
    started.push(broker);
    await hasStarted(child);
    child.kill(signal);
    await once(child, 'exit');
    await eventually(() => {
      expect(identifyProcess(broker)).toBeUndefined();
    });
  });

  it.each([
    ['ends at once', 'case "$*" in *StorageTool*) exit 0; esac\nexit 1'],
    ['is killed', 'case "$*" in *StorageTool*) exit 0; esac\nkill -KILL $$'],
    ['does not run at all', 'exit 1'],
  ])('is done without where its Java %s', async (_, script) => {
    program('java', script);
    const { code, stdout, stderr } = await outputOf(archive());
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('Kafka will start more slowly');
    expect(readdirSync(join(root, '.cache'))).toEqual([]);
  });
});

describe('Maven that cannot fetch Kafka', () => {
  it.each([
    ['HTTPS_PROXY', { HTTPS_PROXY: 'http://proxy:3128' }, true],
    ['https_proxy', { https_proxy: 'http://proxy:3128' }, true],
    ['no proxy', {}, false],
  ])('says where to name a proxy, with %s', async (_, environment, isNamed) => {
    mkdirSync(join(root, 'docker/kafka'), { recursive: true });
    writeFileSync(join(root, 'docker/kafka/pom.xml'), '<project/>');
    program('mvn', 'case "$*" in --version) exit 0; esac\nexit 1');
    const { code, stderr } = await outputOf(
      run('kafka-jars.mjs', 'fetchKafkaJars', 'await fetchKafkaJars(root);', environment),
    );
    expect([code, stderr.includes('<proxies> of ~/.m2/settings.xml')]).toEqual([1, isNamed]);
  });
});

describe('Kafka in a folder with letters that are not ASCII', () => {
  const note = (): string => `echo "$LC_ALL" >> ${root}/locales`;
  const locales = (): string => readFileSync(join(root, 'locales'), 'utf8');

  it('is fetched by Maven in a locale of UTF-8', async () => {
    mkdirSync(join(root, 'größe/docker/kafka'), { recursive: true });
    writeFileSync(join(root, 'größe/docker/kafka/pom.xml'), '<project/>');
    program('mvn', `case "$*" in --version) exit 0; esac\n${note()}`);
    const { stderr } = await outputOf(
      run('kafka-jars.mjs', 'fetchKafkaJars', "await fetchKafkaJars(root + '/größe');"),
    );
    expect(stderr).toBe('');
    expect(locales()).toBe('C.UTF-8\n');
  });

  it('has its archive made in such a locale, with settings in ASCII', async () => {
    program('java', `${note()}\ncase "$*" in *StorageTool*) cp server.properties ${root}; exit 0; esac\nexit 1`);
    await outputOf(run('kafka-classes.mjs', 'archiveKafkaClasses', "await archiveKafkaClasses(root + '/größe');"));
    expect(locales()).toBe('C.UTF-8\nC.UTF-8\n');
    const settings = readFileSync(join(root, 'server.properties'), 'utf8');
    expect(settings).toContain('log.dirs=records\n');
    expect(settings).toMatch(/^[\x20-\x7e\n]*$/);
  });
});

describe('a child that is being started', () => {
  it.each([
    ['run-tool.mjs', 'spawnWithUs', "spawnWithUs('sleep', ['60'], { stdio: 'ignore' })"],
    ['jest-run.mjs', 'runNode', "runNode(root, ['-e', 'setTimeout(() => undefined, 60_000)'])"],
  ])('does not stay behind after a signal: %s', async (script, name, starts) => {
    const parent = run(
      script,
      name,
      `import childProcess from 'node:child_process';
       import { syncBuiltinESMExports } from 'node:module';
       const { spawn } = childProcess;
       childProcess.spawn = (...args) => {
         const child = spawn(...args);
         // What watches over the child is not the child.
         if (args[0] === 'sh') return child;
         console.log(child.pid);
         process.kill(process.pid, 'SIGTERM');
         return child;
       };
       syncBuiltinESMExports();
       ${starts};`,
    );
    const child = await new Promise<number>((resolve) =>
      parent.stdout!.once('data', (pid) => {
        resolve(Number(pid));
      }),
    );
    expect(child).toBeGreaterThan(0);
    started.push(child);
    await once(parent, 'exit');
    await eventually(() => {
      expect(identifyProcess(child)).toBeUndefined();
    });
  });
});

describe('a tool', () => {
  const tool = (command: string) =>
    run('run-tool.mjs', 'runTool', `console.log(await runTool('${command}', [], { cwd: root, advice: '' }));`);

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    'is not left behind after %s, nor is what it has started',
    async (signal) => {
      program('npm', `sleep 600 & echo $! > ${root}/script\necho $$ > ${root}/npm\nwait`);
      const parent = run('dependencies.mjs', 'installDependencies', `${ANSWERS} await installDependencies(root);`);
      const pids = await eventually(() => {
        const found = ['npm', 'script'].map((name) => Number(readFileSync(join(root, name), 'utf8')));
        if (found.includes(0)) throw new Error('it does not run yet');
        return found;
      });
      started.push(...pids);
      await hasStarted(parent);
      parent.kill(signal);
      await once(parent, 'exit');
      await eventually(() => {
        expect(pids.map(identifyProcess)).toEqual([undefined, undefined]);
      });
    },
  );

  it('gives what it prints, and no input', async () => {
    program('tool', 'cat; echo out; echo err >&2');
    const { code, stdout } = await outputOf(tool('tool'));
    expect([code, stdout.split('\n').toSorted()]).toEqual([0, ['', '', 'err', 'out']]);
  });

  it.each([
    ['its exit code', 'tool', 'exit 3', 'tool: exit code 3'],
    ['the signal that ended it', 'tool', 'kill -KILL $$', 'tool: SIGKILL'],
    ['that it is not there', 'no-such-tool', '', 'no-such-tool: spawn no-such-tool ENOENT'],
  ])('fails with %s', async (_, command, script, message) => {
    program('tool', script);
    const { code, stderr } = await outputOf(tool(command));
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});

describe('a child whose output is kept', () => {
  // Only root may raise a priority, and these tests may run at a low one.
  const ours = Math.max(5, getPriority());
  const lower = Math.min(ours + 1, 19);

  it.each([
    ['our priority', undefined, ours],
    ['a lower priority', lower, lower],
    ['our priority instead of a higher one', ours - 1, ours],
  ])('has %s', async (_, priority, expected) => {
    const { stdout, stderr } = await outputOf(
      run(
        'jest-run.mjs',
        'runNodeQuietly',
        `import { setPriority } from 'node:os';
         setPriority(0, ${ours});
         console.log(JSON.stringify(await runNodeQuietly(root, ['-p', 'os.getPriority()'], ${priority})));`,
      ),
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({ passed: true, output: `${expected}\n` });
  });
});

describe('the preparation of a folder', () => {
  const turn = (code: string) =>
    run(
      'alone.mjs',
      'alone',
      `const onWait = (pid) => console.log('waits for', pid);
       await alone(root + '/preparing', async () => { ${code} }, { onWait });`,
    );
  const hasBegun = () => eventually(() => readFileSync(join(root, 'preparing'), 'utf8'));
  const LONG = 'await new Promise((resolve) => setTimeout(resolve, 600_000))';

  it('waits for another process that prepares it', async () => {
    const first = turn(`
      const working = setInterval(() => undefined, 1_000);
      const signalled = new Promise((resolve) => process.once('SIGUSR2', resolve));
      console.log('first begins');
      await signalled;
      clearInterval(working);
      console.log('first ends');`);
    const ofFirst = outputOf(first);
    await once(first.stdout!, 'data');
    const second = turn("console.log('second')");
    second.stdout!.once('data', () => first.kill('SIGUSR2'));
    const outputs = await Promise.all([ofFirst, outputOf(second)]);
    expect(outputs.map(({ stdout }) => stdout)).toEqual([
      'first begins\nfirst ends\n',
      `waits for ${first.pid}\nsecond\n`,
    ]);
    expect(readdirSync(root)).toEqual([]);
  });

  it('waits for another process whose last sign of life is old, as after the machine slept', async () => {
    const holder = spawn('sleep', ['600']);
    started.push(holder.pid!);
    writeFileSync(join(root, 'preparing'), String(holder.pid));
    const earlier = new Date(Date.now() - 3_600_000);
    utimesSync(join(root, 'preparing'), earlier, earlier);
    const second = turn("console.log('second')");
    second.stdout!.once('data', () => {
      rmSync(join(root, 'preparing'));
    });
    expect((await outputOf(second)).stdout).toBe(`waits for ${holder.pid}\nsecond\n`);
  });

  it('goes on after one that was killed', async () => {
    const killed = turn(LONG);
    await hasBegun();
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    const turns = await Promise.all(['one', 'two'].map((name) => outputOf(turn(`console.log('${name}')`))));
    expect(turns.map(({ stdout }) => stdout.split('\n').at(-2))).toEqual(['one', 'two']);
    expect(readdirSync(root)).toEqual([]);
  });

  it('goes on after one that was killed before the clock was set back', async () => {
    const ended = spawn('true');
    await once(ended, 'exit');
    writeFileSync(join(root, 'preparing'), String(ended.pid));
    const later = new Date(Date.now() + 3_600_000);
    utimesSync(join(root, 'preparing'), later, later);
    expect((await outputOf(turn("console.log('one')"))).stdout).toMatch(/one\n$/);
  });
});

describe('a draft in the cache', () => {
  it('replaces those of processes that have ended, and leaves those of others alone', async () => {
    const ended = spawn('true');
    await once(ended, 'exit');
    const kept = [`fetching-${process.pid}`, `archiving-${ended.pid}`];
    for (const name of [...kept, `fetching-${ended.pid}`]) mkdirSync(join(root, name));
    const { stdout } = await outputOf(run('draft.mjs', 'makeDraft', "console.log(makeDraft(root, 'fetching'));"));
    expect(
      readdirSync(root)
        .map((name) => join(root, name))
        .sort(),
    ).toEqual([...kept.map((name) => join(root, name)), stdout.trim()].sort());
  });
});

describe('the dependencies', () => {
  const LOCK = JSON.stringify({ packages: { '': {}, 'node_modules/a': { version: '1.0.0' } } });
  const installed = (): string => join(root, 'node_modules/.package-lock.json');
  const areInstalled = async (before = '') => {
    const { stdout, stderr } = await outputOf(
      run('dependencies.mjs', 'dependenciesAreInstalled', `${before}console.log(dependenciesAreInstalled(root));`),
    );
    return stdout.trim() || stderr;
  };

  beforeEach(() => {
    mkdirSync(join(root, 'node_modules'));
    writeFileSync(join(root, 'package-lock.json'), LOCK);
    writeFileSync(installed(), LOCK);
  });

  it('are not taken for whole after an install that was cut short', async () => {
    expect(await areInstalled()).toBe('true');
    program('npm', 'exit 1');
    await outputOf(run('dependencies.mjs', 'installDependencies', 'await installDependencies(root).catch(() => {});'));
    expect(await areInstalled()).toBe('false');
  });

  it('are not taken for whole when half of what npm writes down is there', async () => {
    writeFileSync(installed(), LOCK.slice(0, 20));
    expect(await areInstalled()).toBe('false');
  });

  const areInstalledWithout = (optional: object, before = '') => {
    const { packages } = JSON.parse(LOCK) as { packages: object };
    const missing = { version: '1.0.0', optional: true, ...optional };
    writeFileSync(
      join(root, 'package-lock.json'),
      JSON.stringify({ packages: { ...packages, 'node_modules/b': missing } }),
    );
    return areInstalled(before);
  };
  const here = { os: [process.platform], cpu: [process.arch] };

  it.each([
    ['another system', { os: ['aix'] }],
    ['another processor', { ...here, cpu: ['mips'] }],
    ['another C library', { ...here, libc: ['another'] }],
    ['no platform', {}],
  ])('are whole without an optional package for %s', async (_, platform) => {
    expect(await areInstalledWithout(platform)).toBe('true');
  });

  it.each([
    ['this system', { os: [process.platform] }],
    ['this platform', here],
  ])('are not whole without an optional package for %s', async (_, platform) => {
    expect(await areInstalledWithout(platform)).toBe('false');
  });

  it('are compared again with another C library', async () => {
    const on = (glibcVersionRuntime?: string) => `
      Object.defineProperty(process, 'platform', { value: 'linux' });
      process.report.getReport = () => (${JSON.stringify({ header: { glibcVersionRuntime } })});
    `;
    expect(await areInstalledWithout({ os: ['linux'], libc: ['musl'] }, on('2.40'))).toBe('true');
    expect(await areInstalled(on('2.40'))).toBe('true');
    expect(await areInstalled(on())).toBe('false');
  });

  it('are installed with the optional ones, whatever npm is set to', async () => {
    program('npm', `echo "$@" > ${root}/npm`);
    await outputOf(run('dependencies.mjs', 'installDependencies', 'await installDependencies(root);'));
    expect(readFileSync(join(root, 'npm'), 'utf8')).toContain(' --include=optional ');
  });

  it('are reported with the reason of npm when they cannot be installed, also to npm run -s', async () => {
    program('npm', 'case "$*" in *--loglevel=error*) echo "npm error no space left" >&2; esac\nexit 1');
    const { stderr } = await outputOf(
      run('dependencies.mjs', 'installDependencies', 'await installDependencies(root);'),
    );
    expect(stderr).toContain('npm error no space left');
  });

  it('count where only another user may write beside them', async () => {
    // A link that leads nowhere: root may write everywhere else.
    symlinkSync('/nowhere/at/all', join(root, 'node_modules/.gapless-lock-hash'));
    expect(await areInstalled()).toBe('true');
    expect(existsSync(join(root, 'node_modules/.gapless-lock-hash'))).toBe(false);
  });
});
