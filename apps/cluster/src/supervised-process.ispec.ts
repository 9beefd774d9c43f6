import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { quietPort } from '#libs/embedded-stack';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { SupervisedProcess } from './supervised-process.js';

/** Answers 200 at once, and says so in its log; ends in order by SIGTERM. */
const READY = `require('http').createServer((_, answer) => answer.end()).listen(+process.env.PORT, '127.0.0.1', () => console.log('up'));
process.on('SIGTERM', () => { console.log('ended in order'); process.exit(); });`;

describe('a supervised process', () => {
  let signal: AbortSignal;
  let directory: string;
  let told: string[];
  let running: SupervisedProcess | undefined;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'gapless-supervised-'));
    told = [];
    signal = AbortSignal.timeout(40_000);
  });

  afterEach(async () => {
    await running?.kill();
    rmSync(directory, { recursive: true, force: true });
  });

  async function aProcess(script: string): Promise<SupervisedProcess> {
    const port = await quietPort(undefined, new Set());
    running = new SupervisedProcess({
      name: 'sample',
      args: ['-e', script],
      env: { PORT: String(port) },
      logFile: join(directory, 'sample.log'),
      healthUrl: `http://127.0.0.1:${port}/`,
      print: (line) => told.push(line),
    });
    return running;
  }

  const log = () => readFileSync(join(directory, 'sample.log'), 'utf8');

  it('is ended in order and stays away until it is started again', async () => {
    const sample = await aProcess(READY);
    sample.start();
    await sample.ready(signal);
    await sample.stop();
    expect({ state: sample.state, pid: sample.pid, told }).toEqual({ state: 'away', pid: undefined, told: [] });
    expect(log()).toBe('up\nended in order\n');
    sample.start();
    await sample.ready(signal);
    expect(log()).toBe('up\nended in order\nup\n');
  });

  it('is started again when it ends by itself, and a line says so', async () => {
    const sample = await aProcess(READY);
    sample.start();
    await sample.ready(signal);
    const { pid = 0 } = sample;
    process.kill(pid, 'SIGKILL');
    await eventually(() => {
      expect(sample.pid).not.toBe(pid);
      expect(sample.state).toBe('ready');
    });
    expect(told).toEqual([expect.stringContaining(`(process ${pid}) ended with SIGKILL; it starts again in 100 ms`)]);
  });

  it('waits longer from failure to failure', async () => {
    const sample = await aProcess('process.exit(3)');
    sample.start();
    await eventually(() => {
      expect(told.length).toBeGreaterThanOrEqual(3);
    });
    await sample.stop();
    const waits = told.slice(0, 3).map((line) => /exit code 3; it starts again in (\d+) ms/.exec(line)?.[1]);
    expect(waits).toEqual(['100', '200', '400']);
    expect(sample.state).toBe('away');
  });

  it('is gone when it is killed, and not started again', async () => {
    const sample = await aProcess(READY);
    sample.start();
    await sample.ready(signal);
    await sample.kill();
    expect({ state: sample.state, told, log: log() }).toEqual({ state: 'away', told: [], log: 'up\n' });
  });
});
