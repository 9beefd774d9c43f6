import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformSync } from '@swc/core';
import { mutate } from '../../mutations/mutation.js';
import { ROOT } from '../../support/root.js';
import { SIMULATED_MUTATIONS, type SimulatedMutation } from './simulated-mutations.js';

const RUNS = join(ROOT, '.data/simulated-mutations', String(process.pid));

interface Report {
  readonly numPassedTests: number;
  readonly brokenSeeds: readonly { readonly seed: number; readonly problem: string }[];
}

export interface MutationsOptions {
  readonly names: readonly string[];
  readonly histories: number;
  readonly write: (text: string) => void;
  readonly progress: (text: string) => void;
}

/** As the compiler does it, for the one file that is broken. */
function compiled(file: string, source: string): string {
  const { code } = transformSync(source, {
    filename: file,
    configFile: false,
    swcrc: false,
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
      target: 'es2022',
      keepClassNames: true,
    },
    module: { type: 'es6' },
  });
  return code;
}

/** A copy of what was built, with the break in it. @returns its folder */
function brokenCopy(mutation: SimulatedMutation): string {
  const copy = join(RUNS, mutation.name);
  mkdirSync(copy, { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(copy, 'package.json'));
  for (const part of ['apps', 'libs', 'test']) {
    cpSync(join(ROOT, 'dist', part), join(copy, 'dist', part), { recursive: true });
  }
  const source = mutate(mutation, readFileSync(join(ROOT, mutation.file), 'utf8'));
  const target = join(copy, 'dist', mutation.file.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, compiled(mutation.file, source));
  return copy;
}

/** Simulates histories of the broken code until one breaks a promise. */
async function firstBroken(mutation: SimulatedMutation, histories: number): Promise<Report | undefined> {
  const copy = brokenCopy(mutation);
  const reportFile = join(copy, 'report.json');
  const main = join(copy, 'dist/test/simulation/main.js');
  const args = [main, '--until-broken', '--histories', String(histories), '--report', reportFile];
  const child = spawn(process.execPath, ['--max-semi-space-size=64', ...args], { cwd: copy, stdio: 'ignore' });
  await once(child, 'exit');
  return existsSync(reportFile) ? (JSON.parse(readFileSync(reportFile, 'utf8')) as Report) : undefined;
}

/** Puts breaks back, one after the other, and says which history finds each. @returns whether all were found */
export async function runMutations({ names, histories, write, progress }: MutationsOptions): Promise<boolean> {
  const unknown = names.find((name) => !SIMULATED_MUTATIONS.some((mutation) => mutation.name === name));
  if (unknown !== undefined) throw new Error(`there is no mutation ${unknown}`);
  const mutations = SIMULATED_MUTATIONS.filter(({ name }) => names.length === 0 || names.includes(name));
  const width = Math.max(...mutations.map(({ name }) => name.length));
  let allFound = true;
  try {
    for (const mutation of mutations) {
      progress(`${mutation.name}: ${mutation.breaks}\n`);
      const report = await firstBroken(mutation, histories);
      const [broken] = report?.brokenSeeds ?? [];
      allFound &&= broken !== undefined;
      const found = broken === undefined ? `MISSED in ${histories} histories` : `seed ${broken.seed}`;
      write(`${mutation.name.padEnd(width)}  ${found.padEnd(12)}  ${broken?.problem.slice(0, 120) ?? ''}\n`);
    }
  } finally {
    rmSync(RUNS, { recursive: true, force: true });
  }
  return allFound;
}
