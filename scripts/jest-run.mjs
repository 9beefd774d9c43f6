import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { join } from 'node:path';

/**
 * The arguments with which Node runs one of jest's projects.
 * @param {string} root
 * @param {string} project
 */
export const jest = (root, project) => [
  // Said by Node once for each worker, and of no use to anybody.
  '--disable-warning=ExperimentalWarning',
  '--experimental-vm-modules',
  // Suites leave much garbage behind: with more room, it is collected less often.
  '--max-semi-space-size=64',
  join(root, 'node_modules/jest/bin/jest.js'),
  `--selectProjects=${project}`,
];

/**
 * Runs Node with our terminal as its own.
 * @param {string} cwd
 * @param {readonly string[]} args
 * @returns {Promise<boolean>} whether it ended well.
 */
export function runNode(cwd, args, env = process.env) {
  return new Promise((resolve, reject) => {
    // A terminal's Ctrl-C reaches the child by itself; it tidies up its servers, and we wait for it.
    const forward = (signal) => child.kill(signal);
    const stay = () => undefined;
    // Before the child starts, since it can run for a while before `spawn` returns.
    process.on('SIGTERM', forward).on('SIGINT', stay);
    const child = spawn(process.execPath, args, { cwd, env, stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code) => {
      process.off('SIGTERM', forward).off('SIGINT', stay);
      resolve(code === 0);
    });
  });
}

/**
 * Runs Node, and prints its output as a whole when it has ended, so that several can run at the same time.
 * @param {string} cwd
 * @param {readonly string[]} args
 * @param {number} [priority] as `os.setPriority` takes it; ours by default, and if ours is lower
 * @returns {Promise<{ passed: boolean, output: string }>}
 */
export function runNodeQuietly(cwd, args, priority) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    if (child.pid !== undefined && priority !== undefined) {
      // A larger number is a lower priority. Only root may raise one.
      setPriority(child.pid, Math.max(priority, getPriority()));
    }
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', reject);
    child.once('close', (code) => resolve({ passed: code === 0, output }));
  });
}

/** How many tests of a jest report passed and failed; a suite that could not even be loaded counts as a failed test. */
export function countTests(reportFile) {
  // Jest writes none when its own set-up fails.
  if (!existsSync(reportFile)) return { passed: 0, failed: 0 };
  const report = JSON.parse(readFileSync(reportFile, 'utf8'));
  return { passed: report.numPassedTests, failed: report.numFailedTests + report.numRuntimeErrorTestSuites };
}
