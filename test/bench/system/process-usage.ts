import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** What a group of processes has used since it started, and what it holds. */
export interface Usage {
  readonly cpuSeconds: number;
  /** In 10^6 bytes, of each process as if it were alone. */
  readonly residentMB: number;
  /** Proportional set size (PSS), in 10^6 bytes: shared memory is divided among its processes. */
  readonly proportionalMB: number;
}

/** A Gapless with the servers that it embeds. */
export interface SystemUsage {
  readonly own: Usage;
  readonly kafka: Usage;
  readonly postgres: Usage;
}

/** A line of `/proc/<pid>/stat`, as far as it is needed. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  /** Of the process itself, and of those of its children that have ended. */
  readonly cpuSeconds: number;
  readonly endedChildrenCpuSeconds: number;
}

/** `USER_HZ`, which is 100 on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Reads `/proc/<pid>/stat`; the name is in parentheses and may hold any character. */
export function parseProcessStat(line: string): ProcessStat {
  const nameEnd = line.lastIndexOf(')');
  const fields = line.slice(nameEnd + 2).split(' ');
  const seconds = (index: number) => Number(fields[index]) / TICKS_PER_SECOND;
  return {
    pid: Number.parseInt(line, 10),
    parent: Number(fields[1]),
    name: line.slice(line.indexOf('(') + 1, nameEnd),
    cpuSeconds: seconds(11) + seconds(12),
    endedChildrenCpuSeconds: seconds(13) + seconds(14),
  };
}

/** @throws Error if it is there and may not be read */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A process that ends meanwhile.
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}

function descendantsOf(pid: number, all: readonly ProcessStat[]): readonly ProcessStat[] {
  const children = all.filter(({ parent }) => parent === pid);
  return children.flatMap((child) => [child, ...descendantsOf(child.pid, all)]);
}

/** NaN if it may not be read: in a container, `smaps_rollup` of another user's process. */
function memberMB(pid: number, file: 'status' | 'smaps_rollup', member: string): number {
  let text: string;
  try {
    text = readIfThere(`/proc/${pid}/${file}`) ?? '';
  } catch {
    return Number.NaN;
  }
  return (Number(new RegExp(`^${member}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * 1_024) / 1e6;
}

function usageOfTree(tree: readonly ProcessStat[]): Usage {
  return {
    cpuSeconds: tree.reduce(
      (sum, { cpuSeconds, endedChildrenCpuSeconds }) => sum + cpuSeconds + endedChildrenCpuSeconds,
      0,
    ),
    residentMB: tree.reduce((sum, { pid }) => sum + memberMB(pid, 'status', 'VmRSS'), 0),
    proportionalMB: tree.reduce((sum, { pid }) => sum + memberMB(pid, 'smaps_rollup', 'Pss'), 0),
  };
}

/** Reads what Gapless and its servers use, from Linux' `/proc`; `undefined` on other systems. */
export function systemUsage(pid: number): SystemUsage | undefined {
  if (process.platform !== 'linux') return undefined;
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readIfThere(`/proc/${name}/stat`) ?? [])
    .map(parseProcessStat);
  const own = all.filter((process) => process.pid === pid);
  const servers = all.filter(({ parent }) => parent === pid);
  const treesOf = (roots: readonly ProcessStat[]) => roots.flatMap((root) => [root, ...descendantsOf(root.pid, all)]);
  return {
    // Its children that have ended prepared the servers before they started.
    own: usageOfTree(own.map((process) => ({ ...process, endedChildrenCpuSeconds: 0 }))),
    kafka: usageOfTree(treesOf(servers.filter(({ name }) => name === 'java'))),
    postgres: usageOfTree(treesOf(servers.filter(({ name }) => name !== 'java'))),
  };
}

/** CPU seconds that one process has used since it started; `undefined` where there is no `/proc`. */
export function processCpuSeconds(pid: number): number | undefined {
  const stat = process.platform === 'linux' ? readIfThere(`/proc/${pid}/stat`) : undefined;
  return stat === undefined ? undefined : parseProcessStat(stat).cpuSeconds;
}

/** CPU seconds that the machine has spent on anything since it booted; `undefined` where there is no `/proc`. */
export function machineCpuSeconds(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  return busySeconds(readFileSync('/proc/stat', 'utf8'));
}

/** Of the first line of `/proc/stat`: all but idle and waiting for disks; guests are counted as users already. */
export function busySeconds(stat: string): number {
  const [, user, nice, system, , , irq, softIrq, steal] = stat.split(/\s+/, 9).map(Number);
  return (
    [user, nice, system, irq, softIrq, steal].reduce((sum: number, ticks = 0) => sum + ticks, 0) / TICKS_PER_SECOND
  );
}

/** The most resident memory, in 10^6 bytes, that the process has held since `forgetPeak`; `undefined` where there is no `/proc`. */
export function peakMB(pid: number): number | undefined {
  return process.platform === 'linux' ? memberMB(pid, 'status', 'VmHWM') : undefined;
}

export function forgetPeak(pid: number): void {
  // 5 resets the peak (proc_pid_clear_refs(5)).
  if (process.platform === 'linux') writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
