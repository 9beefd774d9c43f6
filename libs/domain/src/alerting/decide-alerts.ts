import { raiseAlert, type Alert } from './alert.js';
import type { WaitingConversation } from './chat-queue.js';
import type { LiveChatSettings } from './live-chat-settings.js';

/** The part of an org's queue that a sweep looks at. */
export interface ChatQueue {
  /** The number of waiting conversations, also those that the sweep does not look at. */
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
 * Returns the alerts of a sweep of an org's queue (contract 7.4): one for each threshold that was newly passed. A
 * conversation past both thresholds gets both alerts, in order. The longest wait comes first.
 */
export function decideAlerts(queue: ChatQueue, settings: LiveChatSettings, nowMs: number): readonly Alert[] {
  const raised = { atMs: nowMs, queueDepth: queue.depth, notifiesStaff: settings.staffAlerts.enabled };
  return queue.waiting
    .toSorted((one, other) => one.waitingSinceMs - other.waitingSinceMs)
    .flatMap((waiting) => crossedStages(waiting, settings, nowMs).map((stage) => raiseAlert(waiting, stage, raised)));
}
