import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';

/** Identifies a process: `started` distinguishes it from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/** Returns the process that has this pid now; `undefined` if there is none, or only a zombie. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const started = process.platform === 'linux' ? startedByProc(pid) : startedByPs(pid, { TZ: 'UTC' });
  return started === undefined ? undefined : { pid, started };
}

export function isAlive({ pid, started }: ProcessIdentity): boolean {
  if (identifyProcess(pid)?.started === started) return true;
  // A server that an earlier version has started is known by its start in local time.
  return process.platform !== 'linux' && startedByPs(pid, {}) === started;
}

/**
 * Returns the place whose pids we see. On Linux, this is the boot of this machine, and the pid namespace, which each
 * container has of its own. Elsewhere it is the host.
 */
export function placeOfPids(): string {
  try {
    return `${bootId()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return `${process.platform} ${hostname()}`;
  }
}

/** Returns the command line of a process, separated by blanks; empty if the process is gone or hidden from us. */
export function commandLineOf(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return '';
  }
}

/** Returns the running child processes of a process. */
export function childrenOf(pid: number): readonly ProcessIdentity[] {
  return childPidsOf(pid)
    .map(identifyProcess)
    .filter((child) => child !== undefined);
}

/** The processes that run in this directory, as far as we may see them; none where the system has no `/proc`. */
export function processesIn(directory: string): readonly ProcessIdentity[] {
  if (process.platform !== 'linux') return [];
  const path = realpathSync(directory);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && workingDirectoryOf(name) === path)
    .map((name) => identifyProcess(Number(name)))
    .filter((found) => found !== undefined);
}

function workingDirectoryOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

function childPidsOf(pid: number): readonly number[] {
  try {
    const text =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
        : execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
    return text.split(/\s+/).filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function startedByProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain blanks; later fields do not. The first is the state; the start time is 19
    // further.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const state = fields[0];
    const ticks = fields[19];
    if (ticks === undefined || state === 'Z' || state === 'X') return undefined;
    // Ticks count from boot, so the boot id is part of the result.
    return `${bootId()}/${ticks}`;
  } catch {
    return undefined;
  }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

/** @param zone `ps` prints local time. In UTC, a process keeps its start when the time zone of the machine changes. */
function startedByPs(pid: number, zone: { readonly TZ?: string }): string | undefined {
  try {
    const [state = 'Z', ...started] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], LC_ALL: 'C', ...zone },
    })
      .trim()
      .split(/\s+/);
    return state.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}
