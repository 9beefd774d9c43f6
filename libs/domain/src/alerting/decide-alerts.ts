import { raiseAlert, type Alert } from './alert.js';
import type { WaitingConversation } from './chat-queue.js';
import type { LiveChatSettings } from './live-chat-settings.js';

/** An org's queue, as far as it has to be looked at. */
export interface ChatQueue {
  /** How many conversations wait in it, those that are not looked at included. */
  readonly depth: number;
  readonly waiting: readonly WaitingConversation[];
}

/** The stages whose thresholds a conversation has newly passed, in order. */
function crossedStages(
  { stage, waitingSinceMs }: WaitingConversation,
  settings: LiveChatSettings,
  nowMs: number,
): readonly (1 | 2)[] {
  const waitedMs = nowMs - waitingSinceMs;
  const thresholds = [
    { stage: 1, seconds: settings.firstAlertSeconds },
    { stage: 2, seconds: settings.secondAlertSeconds },
  ] as const;
  return thresholds
    .filter((threshold) => stage < threshold.stage && waitedMs >= threshold.seconds * 1_000)
    .map((threshold) => threshold.stage);
}

/**
 * The alerts that a sweep of an org's queue raises (contract 7.4): one for each threshold that was passed and
 * not yet alerted for. A conversation that is found past both gets both, in order; who waits longest comes first.
 */
export function decideAlerts(queue: ChatQueue, settings: LiveChatSettings, nowMs: number): readonly Alert[] {
  const raised = { atMs: nowMs, queueDepth: queue.depth, tellsStaff: settings.staffAlerts.enabled };
  return queue.waiting
    .toSorted((one, other) => one.waitingSinceMs - other.waitingSinceMs)
    .flatMap((waiting) => crossedStages(waiting, settings, nowMs).map((stage) => raiseAlert(waiting, stage, raised)));
}
