import { readFileSync } from 'node:fs';

const LOOK_EVERY_MS = 250;
const PATIENCE_MS = 5_000;

/** What was seen of the process meanwhile. */
export interface Vitals {
  /** The most that it held resident, and what it held before, in MiB. */
  readonly peakMiB: number;
  readonly beforeMiB: number;
  /** How often `/health/ready` was asked, and how often it did not answer 200. */
  readonly looks: number;
  readonly notReady: number;
}

/** Looks at memory and readiness of a process while something is done to it. */
export async function vitalsDuring(pid: number, baseUrl: string, act: () => Promise<void>): Promise<Vitals> {
  const beforeMiB = residentMiB(pid);
  let [peakMiB, looks, notReady] = [beforeMiB, 0, 0];
  const state: { looking: Promise<void> | null } = { looking: null };
  const look = async () => {
    const isReady = await fetch(`${baseUrl}/health/ready`, { signal: AbortSignal.timeout(PATIENCE_MS) }).then(
      async (answer) => {
        await answer.text();
        return answer.status === 200;
      },
      () => false,
    );
    looks++;
    if (!isReady) notReady++;
  };
  const timer = setInterval(() => {
    peakMiB = Math.max(peakMiB, residentMiB(pid));
    state.looking ??= look().finally(() => {
      state.looking = null;
    });
  }, LOOK_EVERY_MS);
  try {
    await act();
  } finally {
    clearInterval(timer);
    await state.looking;
  }
  return { peakMiB, beforeMiB, looks, notReady };
}

function residentMiB(pid: number): number {
  const [, kib = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 1024);
}
