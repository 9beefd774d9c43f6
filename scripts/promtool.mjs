import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runTool } from './run-tool.mjs';

const ADVICE = `Prometheus' promtool is needed to check the alerts:
  Debian, Ubuntu:  apt-get install prometheus
  macOS:           brew install prometheus
or set PROMTOOL to its path.`;

/** @param {string} root */
const fetchedDir = (root) => join(root, '.cache/promtool');

/**
 * The promtool to use: PROMTOOL, else that of PATH, else one that was fetched from Debian without installing it, so that
 * no Prometheus begins to run.
 * @param {string} root
 * @throws {StepError} when there is none and none can be fetched.
 */
export async function promtool(root, env = process.env) {
  const given = env.PROMTOOL || 'promtool';
  if (await runs(given)) return given;
  const fetched = join(fetchedDir(root), 'usr/bin/promtool');
  if (!existsSync(fetched)) await fetchPackage(root);
  return fetched;
}

async function runs(command) {
  try {
    await promisify(execFile)(command, ['--version']);
    return true;
  } catch {
    return false;
  }
}

/** In a directory beside the final one, then renamed: a fetch that was cut short leaves nothing that looks whole. */
async function fetchPackage(root) {
  const cache = join(root, '.cache');
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, 'fetching-promtool-'));
  try {
    await runTool('apt-get', ['download', 'prometheus'], { cwd: draft, advice: ADVICE });
    const archive = readdirSync(draft).find((name) => name.endsWith('.deb')) ?? '';
    await runTool('dpkg', ['-x', archive, 'package'], { cwd: draft, advice: ADVICE });
    if (!existsSync(fetchedDir(root))) renameSync(join(draft, 'package'), fetchedDir(root));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
