import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { errorCode, OperatorError, systemClock } from '#libs/domain';
import { endProcess, type StopSteps } from '../processes/end-process.js';
import { identifyProcess, isAlive, placeOfPids, type ProcessIdentity } from '../processes/process-identity.js';

/** The content of a pid file, as JSON: the process that runs the server, and the server once it is spawned. */
interface PidRecord {
  readonly owner: ProcessIdentity;
  /** Where these processes are. Records of earlier versions do not say it. */
  readonly place?: string;
  readonly server?: ProcessIdentity;
}

/** The right to run one server on its directory, held by a pid file until it is released. */
export interface ServerClaim {
  /** Stores the server's process in the pid file, so that a later start can find it if we are killed. */
  readonly record: (server: ProcessIdentity) => void;
  /** You can call it repeatedly. */
  readonly release: () => void;
}

/** Another running Gapless uses the directory. */
export class DataDirInUseError extends OperatorError {
  override readonly name = 'DataDirInUseError';
}

/** A server's directory that is to be claimed. */
interface ClaimPlan {
  readonly name: string;
  readonly pidFile: string;
  readonly dataDir: string;
  readonly stopSteps: StopSteps;
  readonly log: (line: string) => void;
}

/** How often a claim is touched while it is held, so that it shows to other hosts and containers. */
const TOUCH_MS = 1_000;
/** How long another one's claim is watched, and how old its last touch is when it needs no watch. */
const WATCH_MS = 3_000;
const STALE_MS = 10_000;

/**
 * Claims a server's directory. It first stops a server that a killed Gapless left behind.
 * @throws DataDirInUseError when the Gapless that holds the claim still runs
 */
export async function claimServer(o: ClaimPlan): Promise<ServerClaim> {
  const owner = identifyProcess(process.pid) ?? { pid: process.pid, started: 'unknown' };
  const place = placeOfPids();
  while (!createExclusively(o.pidFile, { owner, place })) await freeClaim(o);
  let isReleased = false;
  const touching = setInterval(() => {
    const now = systemClock.now() / 1_000;
    void utimes(o.pidFile, now, now).catch(() => undefined);
  }, TOUCH_MS).unref();
  return {
    record(server) {
      const draft = `${o.pidFile}.new`;
      writeFileSync(draft, JSON.stringify({ owner, place, server } satisfies PidRecord));
      renameSync(draft, o.pidFile);
    },
    release() {
      clearInterval(touching);
      // On a second call, the file may be the claim of another process.
      if (!isReleased) rmSync(o.pidFile, { force: true });
      isReleased = true;
    },
  };
}

/**
 * Stops the server that a killed Gapless left behind, and drops the claim on it.
 * @throws DataDirInUseError when the Gapless that holds the claim still runs
 */
export async function freeClaim(o: ClaimPlan): Promise<void> {
  const onLeftover = (server: ProcessIdentity): void => {
    o.log(`${o.name} of a killed Gapless still runs (process ${server.pid}); stopping it first`);
  };
  if (await endLeftover(o.pidFile, o.stopSteps, onLeftover)) return;
  const holder = readRecord(o.pidFile);
  if (holder === undefined) return;
  const { pid } = holder.owner;
  throw new DataDirInUseError(
    isElsewhere(holder)
      ? `${o.dataDir} is in use by another Gapless, on another host or in another container. ` +
          'Stop that one, or set DATA_DIR to another directory.'
      : `${o.dataDir} is in use by Gapless, process ${pid}. ` +
          `Stop that one (kill ${pid}), or set DATA_DIR to another directory.`,
  );
}

/**
 * Stops the server that a killed Gapless left behind.
 * @returns false, and does nothing, if the Gapless that holds the claim still runs
 */
export async function endLeftover(
  pidFile: string,
  stopSteps: StopSteps,
  onFound: (server: ProcessIdentity) => void = () => undefined,
): Promise<boolean> {
  const earlier = readRecord(pidFile);
  if (earlier !== undefined && (isElsewhere(earlier) ? await isTouched(pidFile) : isAlive(earlier.owner))) return false;
  if (earlier?.server !== undefined && isAlive(earlier.server)) {
    onFound(earlier.server);
    await endProcess(earlier.server, stopSteps);
  }
  dropClaim(pidFile, earlier);
  return true;
}

/** Whether we cannot see the processes of the record: another host or container made it, or this one before a reboot. */
function isElsewhere({ place }: PidRecord): boolean {
  return place !== undefined && place !== placeOfPids();
}

/** Whether the holder of a claim touches it. */
async function isTouched(pidFile: string): Promise<boolean> {
  const probe = temporaryName(pidFile);
  // Its time is that of the disk, since the clocks of two hosts may differ.
  writeFileSync(probe, '');
  const now = changedAt(probe);
  rmSync(probe);
  const before = changedAt(pidFile);
  if (now - before > STALE_MS) return false;
  for (let left = WATCH_MS; left > 0; left -= TOUCH_MS / 4) {
    await pause(TOUCH_MS / 4);
    if (changedAt(pidFile) !== before) return true;
  }
  return false;
}

/** When the file was last written or touched, milliseconds; 0 if it is gone. */
function changedAt(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? 0 : Math.max(found.ctimeMs, found.mtimeMs);
}

/** Returns a name that no other process uses, not even one in another container with the same pid. */
function temporaryName(file: string): string {
  return `${file}.${process.pid}-${randomBytes(4).toString('hex')}`;
}

/**
 * Removes the claim of a dead process, or an invalid pid file. Another start may have removed it and claimed the
 * directory meanwhile: then its claim is restored.
 */
function dropClaim(pidFile: string, dead: PidRecord | undefined): void {
  const aside = temporaryName(pidFile);
  try {
    renameSync(pidFile, aside);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  const taken = readRecord(aside);
  if (taken !== undefined && JSON.stringify(taken.owner) !== JSON.stringify(dead?.owner)) linkSync(aside, pidFile);
  rmSync(aside, { force: true });
}

/** Writes the file as a whole, so that no reader sees half a claim. Returns false if it exists. */
function createExclusively(file: string, record: PidRecord): boolean {
  const draft = temporaryName(file);
  writeFileSync(draft, JSON.stringify(record));
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Returns `undefined` if the file is missing or invalid. */
function readRecord(file: string): PidRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(file, 'utf8')) as Partial<PidRecord> | null;
    // A file that was damaged may hold other JSON.
    return record?.owner === undefined ? undefined : (record as PidRecord);
  } catch {
    return undefined;
  }
}
