import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { setTimeout as delay } from 'node:timers/promises';

const SIGN_OF_LIFE_MS = 1_000;
/** A process that is gone gave its last sign of life this long ago; one of another container has a pid that says nothing. */
const GONE_AFTER_MS = 3 * SIGN_OF_LIFE_MS;
/** Its pid may have been given to another process. */
const SILENT_AFTER_MS = 60_000;
const LOOK_EVERY_MS = 200;

/** @param {number | undefined} pid */
export function runs(pid) {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It is another user's.
    return error.code === 'EPERM';
  }
}

/**
 * Acts while no other process does under the same name, and waits for that one: two first starts must not install into
 * one folder at once.
 * @template T
 * @param {string} path a file that says who acts
 * @param {() => Promise<T>} act
 * @param {{onWait?: (pid: number) => void}} options called once, if it has to wait
 * @returns {Promise<T>}
 */
export async function alone(path, act, { onWait } = {}) {
  mkdirSync(dirname(path), { recursive: true });
  let waitsFor;
  while (!claim(path)) {
    const { pid, silentMs } = holderOf(path);
    const isGone = silentMs > (runs(pid) ? SILENT_AFTER_MS : GONE_AFTER_MS);
    if (isGone) removeOf(path, pid);
    else if (waitsFor === undefined && pid !== undefined) onWait?.((waitsFor = pid));
    await delay(LOOK_EVERY_MS);
  }
  // After a long freeze, such as that of a laptop, it may be another process's.
  const isOurs = () => holderOf(path).pid === process.pid;
  const timer = setInterval(() => isOurs() && utimesSync(path, new Date(), new Date()), SIGN_OF_LIFE_MS).unref();
  const release = () => isOurs() && rmSync(path, { force: true });
  process.once('exit', release);
  try {
    return await act();
  } finally {
    clearInterval(timer);
    process.off('exit', release);
    release();
  }
}

function claim(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Says which process acts, if that is known, and how far its last sign of life is from now: the clock may have been set back. */
function holderOf(path) {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    return { pid: pid === 0 ? undefined : pid, silentMs: Math.abs(Date.now() - statSync(path).mtimeMs) };
  } catch {
    // It has just been released.
    return { pid: undefined, silentMs: 0 };
  }
}

/** Removes the claim of a process that is gone, unless another process has just done so and claimed it for itself. */
function removeOf(path, pid) {
  const aside = join(dirname(path), `gone-${process.pid}`);
  try {
    renameSync(path, aside);
    if (holderOf(aside).pid !== pid) renameSync(aside, path);
    else rmSync(aside);
  } catch {
    // Another process was faster.
  }
}
