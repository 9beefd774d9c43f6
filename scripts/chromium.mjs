import { existsSync } from 'node:fs';
import { runTool, StepError } from './run-tool.mjs';

/** The browser of the tests: CHROMIUM_PATH, else where Debian puts it. */
export const chromiumPath = (env = process.env) => env.CHROMIUM_PATH || '/usr/bin/chromium';

const ADVICE = [
  'Chromium is needed for the tests in a browser and for screenshots.',
  '  Debian:  apt-get install --no-install-recommends chromium',
  'or set CHROMIUM_PATH to one of your own (Chrome will do).',
].join('\n');

/**
 * Sees to it that there is a browser; on Debian, root installs it.
 * @param {string} root
 * @throws {StepError} that says what to do where that is not possible.
 */
export async function installChromium(root) {
  if (existsSync(chromiumPath())) return;
  const mayInstall = !process.env.CHROMIUM_PATH && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (!mayInstall) throw new StepError(`There is no ${chromiumPath()}. ${ADVICE}`);
  console.log('Installing Chromium …');
  const options = { cwd: root, advice: ADVICE, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  await runTool('apt-get', ['update', '-q'], options);
  await runTool('apt-get', ['install', '-qy', '--no-install-recommends', 'chromium'], options);
}
