import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { errorCode, OperatorError } from '#libs/domain';
import { endProcess, type StopSteps } from '../processes/end-process.js';
import { identifyProcess, isAlive, type ProcessIdentity } from '../processes/process-identity.js';

/** The content of a pid file, as JSON: the process that runs the server, and the server once it is spawned. */
interface PidRecord {
  readonly owner: ProcessIdentity;
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

/**
 * Claims a server's directory. It first stops a server that a killed Gapless left behind.
 * @throws DataDirInUseError when the Gapless that holds the claim still runs
 */
export async function claimServer(o: ClaimPlan): Promise<ServerClaim> {
  const owner = identifyProcess(process.pid) ?? { pid: process.pid, started: 'unknown' };
  while (!createExclusively(o.pidFile, { owner })) await freeClaim(o);
  let isReleased = false;
  return {
    record(server) {
      const draft = `${o.pidFile}.new`;
      writeFileSync(draft, JSON.stringify({ owner, server } satisfies PidRecord));
      renameSync(draft, o.pidFile);
    },
    release() {
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
  const holder = readRecord(o.pidFile)?.owner.pid;
  if (holder === undefined) return;
  throw new DataDirInUseError(
    `${o.dataDir} is in use by Gapless, process ${holder}. ` +
      `Stop that one (kill ${holder}), or set DATA_DIR to another directory.`,
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
  if (earlier !== undefined && isAlive(earlier.owner)) return false;
  if (earlier?.server !== undefined && isAlive(earlier.server)) {
    onFound(earlier.server);
    await endProcess(earlier.server, stopSteps);
  }
  dropClaim(pidFile, earlier);
  return true;
}

/**
 * Removes the claim of a dead process, or an invalid pid file. Another start may have removed it and claimed the
 * directory meanwhile: then its claim is restored.
 */
function dropClaim(pidFile: string, dead: PidRecord | undefined): void {
  const aside = `${pidFile}.${process.pid}-${randomBytes(4).toString('hex')}`;
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
  const draft = `${file}.${record.owner.pid}`;
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
    return JSON.parse(readFileSync(file, 'utf8')) as PidRecord;
  } catch {
    return undefined;
  }
}
