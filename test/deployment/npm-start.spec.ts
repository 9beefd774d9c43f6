import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { ROOT } from '../support/root.js';

/** Runs `npm start -- …`. None of these arguments starts anything. */
function start(...args: readonly string[]) {
  return spawnSync(process.execPath, ['scripts/start.mjs', ...args], { cwd: ROOT, encoding: 'utf8' });
}

describe('npm start', () => {
  it.each([['--help'], ['-h'], ['api', '--help'], ['servers', '--help']])('says what it does: %s %s', (...args) => {
    const { status, stdout, stderr } = start(...args);
    expect([status, stderr]).toEqual([0, '']);
    for (const word of [
      'PORT',
      'DATA_DIR',
      'credentials.json',
      'docs/settings.md',
      'npm run cluster',
      'sequencer',
      'servers',
    ]) {
      expect(stdout).toContain(word);
    }
  });

  it.each([
    ['--prot', 'There is no option "--prot".'],
    ['everything', 'There is no stage "everything".'],
    ['api --port', 'There is no option "--port".'],
    ['standalone 4000', 'There is no option "4000".'],
    ['servers api', 'There is no option "api".'],
  ])('starts nothing with %s', (args, message) => {
    const { status, stdout, stderr } = start(...args.split(' '));
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
    expect(stderr).toContain('npm start -- --help');
  });
});
