import { spawn } from 'node:child_process';

const TAIL_LINES = 30;

/** A step that failed in a way that its user can fix; `message` says how. */
export class StepError extends Error {}

/**
 * Reads the id of a process group, and ends that group once our end of the pipe is closed, which also happens when we are
 * killed.
 */
const END_WITH_US = 'read -r group || exit 0; cat >/dev/null; kill -s TERM -- "-$group"';

/**
 * Starts a child, in a process group of its own, that does not go on alone: signals to stop are passed on to the group,
 * and end this process, and the group is ended when this process is killed.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
export function spawnWithUs(command, args, options) {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const onSignal = (signal, number) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It has ended by itself.
    }
    process.exit(128 + number);
  };
  // Both before the child starts, since it can run for a while before `spawn` returns.
  for (const signal of signals) process.once(signal, onSignal);
  const guard = spawn('sh', ['-c', END_WITH_US], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  guard.once('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  const child = spawn(command, args, { ...options, detached: true });
  if (child.pid !== undefined) guard.stdin.write(`${child.pid}\n`);
  child.once('close', () => {
    // Its id may soon be that of another group.
    guard.kill('SIGKILL');
    signals.forEach((signal) => process.off(signal, onSignal));
  });
  return child;
}

/**
 * Runs a tool quietly.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{cwd: string, advice: string, env?: NodeJS.ProcessEnv}} options `advice` is what to do when it fails.
 * @returns {Promise<string>} what it printed.
 * @throws {StepError} with the end of what it printed, and the advice.
 */
export function runTool(command, args, { cwd, advice, env = process.env }) {
  return new Promise((resolve, reject) => {
    const child = spawnWithUs(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-1_000_000);
      });
    }
    const fail = (how) => {
      const tail = output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
      reject(new StepError(`${[command, ...args].join(' ')}: ${how}\n${tail}\n\n${advice}`));
    };
    child.once('error', (error) => fail(error.message));
    child.once('close', (code, signal) => (code === 0 ? resolve(output) : fail(signal ?? `exit code ${code}`)));
  });
}
