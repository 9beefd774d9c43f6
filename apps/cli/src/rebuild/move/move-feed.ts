import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError, type Clock, type OrgId, type Position } from '#libs/domain';
import {
  awayReason,
  beginAt,
  DayPartitions,
  drainFeedWriters,
  FeedCopy,
  FeedLists,
  FeedTargets,
  isPostgresAway,
  projectedPositions,
  projectedUpTo,
  Store,
  type FeedDifference,
  type FeedServer,
  type SecretCipher,
  type ServedHead,
} from '#libs/postgres';
import {
  anchorText,
  checkPositions,
  isPassingKafkaError,
  LogPositions,
  parseAnchor,
  partitionOf,
  ReadingStalledError,
  type CheckedPosition,
  type Positions,
} from '#libs/kafka-log';
import { createLogger, databaseName, untilItWorks } from '#libs/runtime';
import { alone } from '../../alone.js';
import { CliError } from '../../cli-error.js';
import type { Installation } from '../../installation.js';
import type { Progress } from '../../verify/progress.js';
import { BEGIN_AGAIN, FeedFollower } from './feed-follower.js';

/** The timeout of queries: a digest reads all events of an org. */
const QUERY_TIMEOUT_MS = 600_000;
const ANNOUNCE_EVERY_MS = 2_000;
/** Longer than any look of a process from before the announcement holds. */
const ANNOUNCED_FOR_MS = 6_000;
/** Longer than a look holds while the move is announced. */
const LOOKS_END_AFTER_MS = 650;
/** How long the new databases may need to read the last records while the feed is closed. */
const LAST_RECORDS_MS = 400;
/** The comparison begins, and the feed is closed, once the new databases lack fewer records than this. */
const NEARLY_THERE = 500;
const ATTEMPTS = 20;
const PAUSE_MS = 1_000;
/** How long processes may need to open the new databases. */
const READY_WITHIN_MS = 60_000;
/** What may be in the way of the change. */
const TOO_SLOW = 'the new databases did not keep up';
const NOT_ANNOUNCED = 'the move was not announced all the time, because this command or the main database stood still';
/** How long the command goes on folding, until the projectors have taken over. */
const HAND_OVER_MS = 3_000;

export interface MoveReport {
  /** How many records of the log were folded by this run. */
  readonly records: number;
  /** How many events were copied from the earlier databases, because the log no longer has them. */
  readonly copied: number;
  readonly orgs: number;
  /** How many events were compared. */
  readonly events: number;
  /** How many processes have changed to the new databases. */
  readonly processes: number;
  /** How long nothing used the feed when it moved, milliseconds. */
  readonly closedMs: number;
  /** How often the feed was closed before that, and could not move in time. */
  readonly closedInVain: number;
  /** The databases of both lists, without accounts. */
  readonly databases: readonly string[];
  readonly left: readonly string[];
  /** Those of them that could not be marked as left. */
  readonly unmarked: readonly string[];
  /** Whether the main database has left the feed: it must not be dropped. */
  readonly hasMainLeft: boolean;
}

/** The feed is in these databases already. */
export interface MovedBefore {
  /** The databases that it left last, without accounts. */
  readonly left: readonly string[];
  readonly hasMainLeft: boolean;
}

export interface MoveRequest {
  readonly urls: readonly string[];
  readonly cipher: SecretCipher;
  /** How many threads fold at the same time. `null`: half the cores, if it is worth it. */
  readonly threads: number | null;
  readonly clock: Clock;
}

/**
 * Moves the feed to other databases while Gapless runs (ADR 106). Killed at any moment, it leaves the service on the
 * databases that it had, and the next run goes on.
 * @throws CliError, FeedTargetError
 */
export async function moveFeed(
  installation: Installation,
  request: MoveRequest,
  progress: Progress,
): Promise<MoveReport | MovedBefore> {
  const { store, config } = installation;
  if (request.urls.length > config.partitions) {
    throw new CliError(
      `The list has ${request.urls.length} databases, but the log has ${config.partitions} partitions: some would hold nothing.`,
    );
  }
  const target = new Store({
    databaseUrl: store.databaseUrl,
    tenantDatabaseUrl: config.tenantDatabaseUrl,
    applicationName: 'gapless-move',
    logger: createLogger('silent', 'cli'),
    migratesWhenOpened: true,
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    feed: { databaseUrls: request.urls, partitionOf: (orgId) => partitionOf(orgId, config.partitions) },
  });
  const namesOf = ({ feed }: Store) => feed.all.map(({ name }) => name).join();
  if (namesOf(store) === namesOf(target)) {
    const left = await new FeedLists(store).leftLast();
    return { left, hasMainLeft: left.includes(databaseName(store.databaseUrl)) };
  }
  try {
    await target.openNow();
    return await alone(store, (lost) => new FeedMoving(installation, target, request, progress).run(lost));
  } catch (error) {
    if (error instanceof OperatorError || !isPostgresAway(error)) throw error;
    throw new CliError(
      `A database failed: ${awayReason(error)}. Nothing is lost. Run the command again: it goes on, or says that the feed has moved.`,
    );
  } finally {
    await target.close();
  }
}

class FeedMoving {
  readonly #lists: FeedLists;
  readonly #copy: FeedCopy;
  readonly #follower: FeedFollower;
  readonly #found = { orgs: 0, events: 0, copied: 0 };
  readonly #ending = new AbortController();
  #announcedSinceMs: number | null = null;

  constructor(
    private readonly installation: Installation,
    private readonly target: Store,
    private readonly request: MoveRequest,
    private readonly progress: Progress,
  ) {
    const { store, connection, config, topics } = installation;
    this.#lists = new FeedLists(store);
    this.#copy = new FeedCopy(target);
    this.#follower = new FeedFollower(connection, config, topics.log, target, request.threads, (count) => {
      progress.advance(count);
    });
  }

  /** @param lost aborts when another command may begin */
  async run(lost: AbortSignal): Promise<MoveReport> {
    const { store } = this.installation;
    const targets = new FeedTargets(store, this.target);
    await targets.open();
    const next = await this.#lists.begin(this.request.urls, this.request.cipher);
    return targets.with(next, async (targetsLost) => {
      const eitherLost = AbortSignal.any([lost, targetsLost]);
      eitherLost.throwIfAborted();
      eitherLost.addEventListener('abort', () => {
        this.#ending.abort(eitherLost.reason);
      });
      const left = store.feed.all.map(({ name }) => name);
      const failed = Promise.race([this.#follow(), this.#announce(next.id)]);
      const working = this.#move(next.id);
      try {
        const done = await Promise.race([working, failed]);
        const unmarked = await targets.markLeft();
        const databases = this.target.feed.all.map(({ name }) => name);
        const hasMainLeft = store.feed.mainPlace !== null && this.target.feed.mainPlace === null;
        return { records: this.#follower.records, ...this.#found, ...done, databases, left, unmarked, hasMainLeft };
      } finally {
        this.#ending.abort(new Error('the move has ended'));
        await working.catch(() => undefined);
        await this.#follower.stop();
        await this.#lists.withdraw().catch(() => undefined);
        this.progress.end();
      }
    });
  }

  async #move(id: string): Promise<Pick<MoveReport, 'processes' | 'closedMs' | 'closedInVain'>> {
    await this.#fold();
    await this.#compareAll();
    const processes = await this.#waitUntilReady(id);
    const change = await this.#change(id);
    await delay(HAND_OVER_MS);
    return { processes, ...change };
  }

  async #follow(): Promise<never> {
    const { config } = this.installation;
    await this.#refuseOtherLog();
    const known = await this.#reached();
    const partitions = Array.from({ length: config.partitions }, (_, partition) => partition);
    return this.#follower.start(new Map(partitions.map((partition) => [partition, known.get(partition) ?? 0])));
  }

  /** Repeats the announcement until the list has changed, and notes since when processes have known of it. */
  async #announce(id: string): Promise<never> {
    const { signal } = this.#ending;
    while (!signal.aborted && (await this.#lists.servedId()) !== id) {
      const knew = await this.#lists.announce(id);
      if (knew === undefined) break;
      if (!knew || this.#announcedSinceMs === null) this.#announcedSinceMs = performance.now();
      await delay(ANNOUNCE_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
    if (!signal.aborted && (await this.#lists.servedId()) !== id) throw new CliError('Another move has begun.');
    return new Promise<never>(() => undefined);
  }

  get #isKnown(): boolean {
    return this.#announcedSinceMs !== null && performance.now() - this.#announcedSinceMs > ANNOUNCED_FOR_MS;
  }

  async #fold(): Promise<void> {
    this.progress.begin('folding the log', await this.#missing());
    while ((await this.#missing()) >= NEARLY_THERE) await this.#rest(200);
    this.progress.end();
  }

  /** Compares all orgs, each up to the head that it has when its turn comes. */
  async #compareAll(): Promise<void> {
    for (const served of this.installation.store.feed.all) {
      this.progress.begin(`comparing ${served.name}`, await this.#copy.countOrgs(served));
      for (let after: OrgId | null = null; ;) {
        const orgs: readonly ServedHead[] = await this.#copy.headsAfter(served, after);
        after = orgs.at(-1)?.orgId ?? null;
        if (after === null) break;
        this.#ending.signal.throwIfAborted();
        const heads = await this.#served();
        while (lacking(heads, await this.#reached()) > 0) await this.#rest(50);
        await this.#compare(served, orgs);
        this.progress.advance(orgs.length);
      }
      this.progress.end();
    }
  }

  async #compare(served: FeedServer, orgs: readonly ServedHead[]): Promise<void> {
    const { config } = this.installation;
    const days = new DayPartitions(served.store);
    const look = async () =>
      this.#copy.compare(served, orgs, await days.prunedBefore(this.request.clock.now(), config.retentionMs));
    let found = await look();
    // The day of the oldest events may just have been dropped.
    if (found.differences.length > 0) found = await look();
    if (found.differences.length > 0) throw new CliError(differenceText(found.differences));
    this.#found.orgs += orgs.length;
    this.#found.events += found.events;
    this.#found.copied += found.copied;
  }

  /** Waits until every process has opened the new databases. @returns how many have */
  async #waitUntilReady(id: string): Promise<number> {
    const untilMs = performance.now() + READY_WITHIN_MS;
    for (;;) {
      const { ready, missing } = await this.#lists.readiness(id);
      if (this.#isKnown && missing.length === 0) return ready;
      if (performance.now() > untilMs) {
        if (!this.#isKnown) throw new CliError(`The feed stays where it was: ${NOT_ANNOUNCED}. Run the command again.`);
        throw new CliError(
          `The new databases cannot be opened by ${missing.join(', ')}. The log of each says why: ` +
            'feed_list.next_cannot_be_opened. The feed stays where it was. Run the command again once they can.',
        );
      }
      await this.#rest(200);
    }
  }

  /** Changes to the new list in a moment in which nothing uses the feed. */
  async #change(id: string): Promise<Pick<MoveReport, 'closedMs' | 'closedInVain'>> {
    let obstacle = '';
    let closedInVain = 0;
    this.progress.begin('changing to the new databases', ATTEMPTS);
    await this.#refuseOtherLog();
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      if ((await this.#missing()) >= NEARLY_THERE) obstacle = TOO_SLOW;
      else if (!this.#isKnown || !(await this.#lists.close(id))) obstacle = NOT_ANNOUNCED;
      else {
        const startedAtMs = performance.now();
        const found = await this.#changeWhileClosed(id);
        if (found === null) return { closedMs: Math.round(performance.now() - startedAtMs), closedInVain };
        obstacle = found;
        closedInVain++;
      }
      this.progress.advance(1);
      await this.#rest(PAUSE_MS);
    }
    throw new CliError(
      `The feed stays where it was: ${obstacle}. It was closed for up to 2 s ${closedInVain} times. ` +
        'Run the command again when there is less load.',
    );
  }

  /** @returns what was in the way; `null` if the feed has moved */
  async #changeWhileClosed(id: string): Promise<string | null> {
    let isChanged = false;
    try {
      await this.#rest(LOOKS_END_AFTER_MS);
      // This process may have been frozen, and the announcement over for a while.
      if (!this.#isKnown) return NOT_ANNOUNCED;
      // What was under way has ended then, and the positions are final.
      const { all: served } = this.installation.store.feed;
      const drained = await Promise.all(served.map(({ store }) => drainFeedWriters(store)));
      const busy = served.filter((_, place) => drained[place] !== true).map(({ name }) => name);
      if (busy.length > 0) return `a statement that writes the feed did not end in ${busy.join(', ')}`;
      const positions = await this.#served();
      const untilMs = performance.now() + LAST_RECORDS_MS;
      while (lacking(positions, await this.#reached()) > 0) {
        if (performance.now() > untilMs) return TOO_SLOW;
        await this.#rest(10);
      }
      const { all, mainPlace } = this.target.feed;
      isChanged = await this.#lists.change(id, mainPlace, all.length);
      return isChanged ? null : 'the databases took too long';
    } finally {
      if (!isChanged) await this.#lists.open(id);
    }
  }

  /** @throws CliError if the log no longer has the records that the new databases have read, or what follows them */
  async #refuseOtherLog(): Promise<void> {
    const { topics } = this.installation;
    const served = await this.#served();
    for (const [partition, { verdict }] of await this.#verdicts()) {
      if (verdict.kind === 'fits') continue;
      // The served feed has no more than they have. A marker after the last record may be what was removed.
      if (verdict.kind === 'removed' && verdict.from >= (served.get(partition)?.next ?? 0)) continue;
      const what = verdict.kind === 'removed' ? `records up to ${verdict.to} are gone` : verdict.reason;
      throw new CliError(
        `The new databases were folded from another state of ${topics.log}/${partition}: ${what}. ` +
          `The feed stays where it was. To move it, ${BEGIN_AGAIN}.`,
      );
    }
  }

  /** Waits for brokers that are away for a moment: the fold may have taken hours. */
  async #verdicts(): Promise<ReadonlyMap<number, CheckedPosition>> {
    const { connection, topics } = this.installation;
    const check = async () => {
      const reached = await projectedPositions(this.target, 'feed', topics.log, parseAnchor);
      return checkPositions(connection, topics.log, reached);
    };
    return untilItWorks(check, {
      signal: this.#ending.signal,
      onFailure: (error) => {
        if (!isPassingKafkaError(error) && !(error instanceof ReadingStalledError)) throw error;
      },
    });
  }

  /** Returns how many records the served feed has that the new one lacks. */
  async #missing(): Promise<number> {
    const { connection, topics } = this.installation;
    const [served, reached] = [await this.#served(), await this.#reached()];
    const unread = [...served].filter(([partition, { next }]) => next > 0 && !reached.has(partition));
    if (unread.length > 0) {
      // Retention may have removed all records of a partition: nothing leads the new database there.
      const bounds = await new LogPositions(connection).bounds(topics.log);
      for (const [partition, position] of unread) {
        if ((bounds.get(partition)?.begin ?? 0) < position.next) continue;
        await beginAt(this.target.feed.ofPartition(partition), {
          projection: 'feed',
          topic: topics.log,
          partition,
          nextOffset: position.next,
          ...(position.anchor === null ? {} : { anchor: anchorText(position.anchor) }),
        });
      }
    }
    return lacking(served, reached);
  }

  async #served(): Promise<ReadonlyMap<number, Position>> {
    const { store, topics } = this.installation;
    return projectedPositions(store, 'feed', topics.log, parseAnchor);
  }

  async #reached(): Promise<Positions> {
    return projectedUpTo(this.target, 'feed', this.installation.topics.log);
  }

  async #rest(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#ending.signal });
  }
}

function lacking(served: ReadonlyMap<number, Position>, reached: Positions): number {
  return [...served].reduce((sum, [partition, { next }]) => sum + Math.max(0, next - (reached.get(partition) ?? 0)), 0);
}

function differenceText(differences: readonly FeedDifference[]): string {
  const lines = differences
    .slice(0, 10)
    .map(({ orgId, served, copied }) => `  ${orgId}: ${served} events in the feed, ${copied} in the new databases`);
  return [
    `The log has another feed than the one that is served, for ${differences.length} organizations:`,
    ...lines,
    'The feed stays where it was. Run "gapless verify", which says what differs.',
    `If it finds nothing, the new databases are stale: ${BEGIN_AGAIN}.`,
  ].join('\n');
}
