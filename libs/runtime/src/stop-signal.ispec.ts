import { afterEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** Says when it can take signals, works until one comes, and then prints before it ends in order. */
const PROGRAM = `
  import { stopSignal, untilAborted } from ${JSON.stringify(resolve('dist/libs/runtime/src/stop-signal.js'))};
  const signal = stopSignal();
  const working = setInterval(() => undefined, 1000);
  process.stdout.write('working\\n');
  await untilAborted(signal);
  process.stdout.write('stopping\\n');
  process.stderr.write('stopping\\n');
  await new Promise((stopped) => setTimeout(stopped, Number(process.argv[1])));
  clearInterval(working);
  process.exit(7);`;

let child: ChildProcessByStdio<null, Readable, Readable>;

async function aWorkingProcess(stopMs = 100): Promise<void> {
  child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, String(stopMs)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await once(child.stdout, 'data');
}

afterEach(() => {
  child.kill('SIGKILL');
});

describe('the signal to stop', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('is given by %s', async (name) => {
    await aWorkingProcess();
    child.kill(name);
    expect(await once(child, 'exit')).toEqual([7, null]);
  });

  it('ends the process at once when it comes again, but not as an echo', async () => {
    await aWorkingProcess(60_000);
    // Under two names: of two signals of the same name that wait, a process gets one.
    child.kill('SIGINT');
    child.kill('SIGTERM');
    await once(child.stdout, 'data');
    await delay(1_500);
    expect(child.exitCode).toBeNull();
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
  });

  it('is followed in order when nobody reads the output any more', async () => {
    await aWorkingProcess();
    child.stdout.destroy();
    child.stderr.destroy();
    child.kill('SIGHUP');
    expect(await once(child, 'exit')).toEqual([7, null]);
  });
});
