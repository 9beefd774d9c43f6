import { idFingerprint, SEQ_NONE, type OrgId, type Seq } from '#libs/domain';
import { CHAT_QUEUE_PROJECTION, FeedRepair, projectedPositions, type FeedTail } from '#libs/postgres';
import { checkPositions, parseAnchor } from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import type { Progress } from '../verify/progress.js';
import { findGrownTopics, type GrownTopic } from './grown-topics.js';
import { goneEvents, type GoneEvents } from './gone-events.js';
import { readGroups, type GroupPlace } from './group-places.js';
import { findInboxResumes, type InboxResume } from './inbox-resume.js';
import { readLogContents, type LogContents } from './log-contents.js';
import { findLostFacts, type LostFacts } from './lost-facts.js';
import {
  areSeqsLost,
  greatestSeqs,
  lastSeqIn,
  readInboxPlaces,
  resumeBehind,
  seqsWithoutEvents,
  unreadRecords,
} from './lost-seqs.js';
import { findRoutedAgain, type RoutedAgain } from './routed-again.js';

const NO_INBOX: InboxResume = { offset: 0, end: 0, skipped: 0, skippedByOrg: new Map() };

/** The projections that fold the log. */
export const LOG_PROJECTIONS: readonly string[] = ['feed', CHAT_QUEUE_PROJECTION];

/** Events that Postgres has but the log does not. */
export interface PutBack {
  readonly count: number;
  /** Those of each org: the ones after the last that the log has. */
  readonly orgs: ReadonlyMap<OrgId, PutBackOfOrg>;
}

interface PutBackOfOrg extends FeedTail {
  readonly first: Seq;
}

const NOTHING_BACK: PutBack = { count: 0, orgs: new Map() };

/** The repair of one partition. */
export interface PartitionPlan {
  readonly partition: number;
  readonly log: LogContents;
  readonly inbox: InboxResume;
  /** The events that return to the log. */
  readonly putBack: PutBack;
  /** The last seq that the log has of each org whose queue of waiting chats has folded later ones. */
  readonly queueSeqs: ReadonlyMap<OrgId, Seq>;
  /** Whether the log ends before a place that Postgres or the checkpoint remembers. */
  readonly isLogBehind: boolean;
  /** The last seq of each org of which a log that went back has no event. */
  readonly seqsWithoutEvents: ReadonlyMap<OrgId, Seq>;
  /** The last seq of each org, if the checkpoint is lost and the log is pruned; otherwise empty. */
  readonly lostSeqs: ReadonlyMap<OrgId, Seq>;
  /** How many records the log lost before Postgres read them, without a checkpoint of their seqs. */
  readonly unread: number;
  /** The events that are lost for good. */
  readonly gone: GoneEvents;
  /** Whether the sequencer needs a new place in the inbox. */
  readonly needsReset: boolean;
}

export interface RepairPlan {
  /** Topics that were altered to more partitions than the installation has. */
  readonly grown: readonly GrownTopic[];
  readonly partitions: readonly PartitionPlan[];
  /** Groups whose offsets have to move. */
  readonly groups: readonly GroupPlace[];
  /** Groups that have members. The repair changes nothing while stages run. */
  readonly running: readonly string[];
  /** Delivery facts that Kafka lost, by partition. Postgres keeps what it has folded of them. */
  readonly lostFacts: ReadonlyMap<number, LostFacts>;
  /** Partitions of the log that are routed again from an earlier place, because topics went back. */
  readonly routedAgain: readonly RoutedAgain[];
}

/** Finds what is wrong with the partitions, and how to fix it. It changes nothing. */
export async function planRepair(installation: Installation, progress: Progress): Promise<RepairPlan> {
  const { connection, topics, store } = installation;
  const contents = await readLogContents(installation, progress);
  const heads = await new FeedRepair(store).heads();
  const queueSeqs = await new FeedRepair(store).queueSeqs();
  const projected = await projectedPositions(store, 'feed', topics.log, parseAnchor);
  const queued = await projectedPositions(store, CHAT_QUEUE_PROJECTION, topics.log, parseAnchor);
  const checked = await Promise.all(
    [projected, queued].map((positions) => checkPositions(connection, topics.log, positions)),
  );
  const isBehind = (log: LogContents) =>
    checked.some((found) => found.get(log.partition)?.verdict.kind === 'went back') ||
    log.end < log.checkpointedLogOffset;
  const putBack = await findPutBack(installation, contents, { heads, isBehind });
  await readInboxPlaces(installation, contents);
  const inboxes = await findInboxResumes(installation, contents);
  const partitions = contents.map((log) => {
    const { partition } = log;
    const events = putBack.get(partition) ?? NOTHING_BACK;
    const found = inboxes.get(partition) ?? NO_INBOX;
    const isLogBehind = isBehind(log);
    const isLost = areSeqsLost(log);
    const inbox = isLost && !isLogBehind ? resumeBehind(log, found) : found;
    const ownHeads = new Map([...heads].filter(([orgId]) => connection.isPlaceOf(orgId, partition)));
    return {
      partition,
      log,
      inbox,
      putBack: events,
      queueSeqs: new Map(
        [...queueSeqs]
          .filter(
            ([orgId, seq]) => connection.isPlaceOf(orgId, partition) && seq > (log.lastSeqs.get(orgId) ?? SEQ_NONE),
          )
          .map(([orgId]) => [orgId, log.lastSeqs.get(orgId) ?? SEQ_NONE]),
      ),
      isLogBehind,
      seqsWithoutEvents: isLogBehind ? seqsWithoutEvents(log, ownHeads) : new Map<OrgId, Seq>(),
      lostSeqs: isLost ? greatestSeqs(log, ownHeads) : new Map<OrgId, Seq>(),
      unread: isLost && !isLogBehind ? unreadRecords(log, projected.get(partition)) : 0,
      needsReset: isLost || isLogBehind || events.count > 0 || inbox.offset < log.inboxOffset,
    };
  });
  const { moved, running } = await readGroups(installation, partitions);
  const knownEnds = (partition: number) => [
    projected.get(partition)?.next ?? 0,
    queued.get(partition)?.next ?? 0,
    ...moved.filter((place) => place.topic === topics.log && place.partition === partition).map(({ from }) => from),
  ];
  const lostFacts = await findLostFacts(installation);
  const routedAgain = await findRoutedAgain(installation, moved);
  const ends = new Map(contents.map(({ partition, end }) => [partition, end]));
  const wentBack =
    lostFacts.size > 0 ||
    partitions.some(({ isLogBehind }) => isLogBehind) ||
    routedAgain.some(({ partition, from }) => from > (ends.get(partition) ?? 0));
  return {
    grown: await findGrownTopics(installation),
    partitions: partitions.map((plan) => {
      const knownEnd = Math.max(plan.log.checkpointedLogOffset, ...knownEnds(plan.partition));
      return { ...plan, gone: goneEvents(plan, heads, knownEnd) };
    }),
    groups: moved,
    running,
    lostFacts,
    // Otherwise the group lost its offsets, and the place is what keeps history from being routed again.
    routedAgain: wentBack ? routedAgain : [],
  };
}

/** Finds the events that return to the log, and adds their ids to those of the log. */
async function findPutBack(
  { store, connection }: Installation,
  contents: readonly LogContents[],
  use: { readonly heads: ReadonlyMap<OrgId, Seq>; readonly isBehind: (log: LogContents) => boolean },
): Promise<ReadonlyMap<number, PutBack>> {
  const repair = new FeedRepair(store);
  const found = new Map<number, PutBack>();
  for (const log of contents) {
    const isLogBehind = use.isBehind(log);
    // Retention removed the events that only Postgres has; the log did not go back.
    if (areSeqsLost(log) && !isLogBehind) continue;
    const ahead = new Map<OrgId, Seq>();
    for (const [orgId, head] of use.heads) {
      const last = isLogBehind ? (log.lastSeqs.get(orgId) ?? SEQ_NONE) : lastSeqIn(log, orgId);
      if (connection.isPlaceOf(orgId, log.partition) && head > last) ahead.set(orgId, last);
    }
    let count = 0;
    const orgs = new Map<OrgId, PutBackOfOrg>();
    await repair.idsAfter(log.partition, ahead, (events) => {
      count += events.length;
      for (const { orgId, seq, id } of events) {
        log.ids.add(idFingerprint(orgId, id));
        const { first, last } = orgs.get(orgId) ?? { first: seq, last: seq };
        orgs.set(orgId, {
          after: ahead.get(orgId) ?? SEQ_NONE,
          first: seq < first ? seq : first,
          last: seq > last ? seq : last,
        });
      }
    });
    found.set(log.partition, { count, orgs });
  }
  return found;
}
