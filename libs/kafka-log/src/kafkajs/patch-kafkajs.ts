import { announceJoins } from './before-join.js';
import { commitOnce } from './commit-once.js';
import { endAfterJoin } from './left-behind/end-after-join.js';
import { keepOwnOffsets } from './left-behind/own-offsets.js';
import { askForCluster } from './one-cluster.js';
import { replaceReset } from './out-of-range.js';
import { keepFailedFetchesApart } from './partition-errors/failed-fetches.js';
import { keepLeaderlessPartitions } from './partition-errors/leaderless-partitions.js';
import { fetchLessWhenQuiet } from './quiet-fetches.js';
import { replaceCodec } from './replace-codec.js';
import { finishConnecting } from './silent-brokers/finish-connecting.js';
import { followCoordinators } from './silent-brokers/replaced-coordinators.js';
import { timeOutTogether } from './silent-brokers/request-timeouts.js';
import { doubtSilentLeaders } from './silent-brokers/silent-leaders.js';
import { stillQueues } from './still-queues.js';

/** In this order: a patch wraps what an earlier one has made of a method. */
const PATCHES: readonly (() => void)[] = [
  replaceCodec,
  keepLeaderlessPartitions,
  replaceReset,
  commitOnce,
  announceJoins,
  endAfterJoin,
  keepOwnOffsets,
  // After `announceJoins`, since that drops answers from before a join.
  keepFailedFetchesApart,
  fetchLessWhenQuiet,
  followCoordinators,
  stillQueues,
  timeOutTogether,
  askForCluster,
  // After `askForCluster`, since it also ends connections to brokers of another cluster.
  finishConnecting,
  doubtSilentLeaders,
];

/** Changes kafkajs for the whole thread. Call it once. @throws if kafkajs lacks a method that is changed */
export function patchKafkajs(): void {
  for (const patch of PATCHES) patch();
}
