import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { NamedTest } from './mutation.js';

/** How a test ended; a suite that could not even be loaded is `unloadable`, which proves nothing. */
export type TestResult =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'unloadable'; readonly message: string }
  | { readonly kind: 'missing' };

interface JestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly failureMessages: readonly string[] }[];
  }[];
}

export interface TestRun {
  /** The tree whose test it is. */
  readonly tree: string;
  readonly jest: string;
  /** Where the servers of integration tests are. */
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Runs the test, and no other one. */
export async function runTest(test: NamedTest, run: TestRun): Promise<TestResult> {
  const reportFile = join(run.tree, 'jest-report.json');
  rmSync(reportFile, { force: true });
  const pattern = test.name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const args = [
    '--disable-warning=ExperimentalWarning',
    '--experimental-vm-modules',
    run.jest,
    `--selectProjects=${test.project}`,
    `--testNamePattern=${pattern}`,
    '--json',
    `--outputFile=${reportFile}`,
    '--runTestsByPath',
    test.file,
  ];
  const child = spawn(process.execPath, args, {
    cwd: run.tree,
    env: { ...process.env, ...run.environment },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: run.signal,
    killSignal: 'SIGTERM',
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-4_000);
  });
  await once(child, 'exit');
  if (!existsSync(reportFile)) return { kind: 'unloadable', message: output };
  return resultOf(JSON.parse(readFileSync(reportFile, 'utf8')) as JestReport);
}

function resultOf(report: JestReport): TestResult {
  if (report.numRuntimeErrorTestSuites > 0) {
    return { kind: 'unloadable', message: report.testResults.map(({ message }) => message).join('\n') };
  }
  const failures = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults.flatMap(({ failureMessages }) => failureMessages),
  );
  if (report.numFailedTests > 0) return { kind: 'failed', message: failures[0] ?? '' };
  return report.numPassedTests > 0 ? { kind: 'passed' } : { kind: 'missing' };
}
