import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { setTimeout as delay } from 'node:timers/promises';

const SIGN_OF_LIFE_MS = 1_000;
const LOOK_EVERY_MS = 200;
/** Looks without a sign of life of a process that is gone. The pid of a process in another container says nothing. */
const GONE_AFTER_LOOKS = (3 * SIGN_OF_LIFE_MS) / LOOK_EVERY_MS;
/** Of a process that runs: its pid may have been given to another one. */
const SILENT_AFTER_LOOKS = 60_000 / LOOK_EVERY_MS;

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
  let last = holderOf(path);
  let silentLooks = 0;
  while (!claim(path)) {
    const { pid, sign } = holderOf(path);
    // Looks are counted, and no time is taken: the clock may be set, and holder and waiter may sleep with the machine.
    silentLooks = pid === last.pid && sign === last.sign ? silentLooks + 1 : 0;
    last = { pid, sign };
    // Our own pid was that of a process before us.
    const isGone = silentLooks > (pid !== process.pid && runs(pid) ? SILENT_AFTER_LOOKS : GONE_AFTER_LOOKS);
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

/** Says which process acts, if that is known, and its last sign of life, by its own clock. */
function holderOf(path) {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    return { pid: pid === 0 ? undefined : pid, sign: statSync(path).mtimeMs };
  } catch {
    // It has just been released.
    return { pid: undefined, sign: undefined };
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
