import type { RecoveryProgress } from '../api/resources.js';
import { wholeNumber } from '../charts/scale.js';
import { pendingText } from './health-of.js';

/** How far a recovery is. */
export interface RecoveryOutcome {
  readonly scheduled: number;
  /** What it schedules in all, as far as that is known. */
  readonly total: number;
  readonly isRunning: boolean;
  readonly text: string;
}

/**
 * Returns how far a recovery is. What became of its deliveries is not known: the endpoint has others that wait or failed.
 * @param parts its parts; `undefined` for one that is not loaded yet
 * @param counted how many deliveries were counted before it began, which may be too few
 * @param pending how many deliveries of the endpoint wait; `undefined` if that is not loaded yet
 */
export function recoveryOutcome(
  parts: readonly (RecoveryProgress | undefined)[],
  counted: number,
  pending: number | undefined,
): RecoveryOutcome {
  const scheduled = parts.reduce((sum, part) => sum + (part?.scheduled ?? 0), 0);
  const isRunning = parts.some((part) => part === undefined || part.status === 'running');
  const isDone = parts.every((part) => part?.status === 'done');
  const total = isDone ? scheduled : Math.max(counted, scheduled);
  const text = `${wholeNumber(scheduled)} of ${wholeNumber(total)} scheduled${endingText(parts)}${waitingText(pending)}.`;
  return { scheduled, total, isRunning, text };
}

function waitingText(pending: number | undefined): string {
  if (pending === undefined) return '';
  return pending === 0 ? ', none waiting' : `, ${pendingText(pending)} waiting at the endpoint`;
}

function endingText(parts: readonly (RecoveryProgress | undefined)[]): string {
  if (parts.some((part) => part?.status === 'failed')) return ' before it failed';
  return parts.some((part) => part?.status === 'stopped') ? ' before it was stopped' : '';
}
