import { VERSION, type Clock, type OrgId } from '#libs/domain';
import {
  compareProjections,
  DayPartitions,
  EndpointVersions,
  ProjectionShadow,
  readPositions,
  type ProjectionName,
  type ProjectionPositions,
  type Store,
  type TableComparison,
} from '#libs/postgres';
import { parseAnchor, partitionOf, type Positions } from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import type { Progress } from '../verify/progress.js';
import { foldHere, type FoldRules, type FoldStretches } from './fold/fold-stretches.js';
import { foldOnThreads, threadsFor } from './fold/fold-threads.js';
import { ProjectionFold } from './fold/projection-fold.js';
import { foldStoreOptions } from './fold/fold-store-options.js';

export interface RebuildRequest {
  readonly projections: readonly ProjectionName[];
  /** Whether the served tables are lost or wrong: rebuild then neither waits for them nor compares with them. */
  readonly fromEmpty: boolean;
  /** Whether to start over where an earlier rebuild was interrupted. */
  readonly startsOver: boolean;
  /** How many threads fold at the same time, each some of the partitions. `null`: half the cores, if it is worth it. */
  readonly threads: number | null;
  /** The retention goes on while the rebuild runs. */
  readonly clock: Clock;
  /** Once it is aborted, nothing more is folded or replaced. */
  readonly signal?: AbortSignal;
}

export interface RebuildReport {
  /** How many records were folded. */
  readonly records: number;
  /** How many had been folded before, by a rebuild that was interrupted. */
  readonly foldedBefore: number;
  /** How many of them in the delivery facts are not facts, such as a batch that cannot be read. They are skipped. */
  readonly foreign: number;
  /** How many events within retention were copied from the old tables, because the log no longer has them. */
  readonly kept: number;
  /** How the old tables compare with the new ones at the same offsets; `null` with `--from-empty`. */
  readonly compared: readonly TableComparison[] | null;
}

/**
 * Rebuild stops catching up below this many records. The projectors wait while it folds the rest, which takes a moment.
 */
const LAST_STRETCH = 500;
/**
 * The most rounds of catching up. Each is shorter than the one before, unless the load is too high for the projectors.
 */
const ROUNDS = 50;

/**
 * Folds the projections again into a shadow while the service runs. Then it compares the shadow with the served tables
 * at the same offsets, and replaces the tables with it.
 */
export async function rebuild(
  installation: Installation,
  request: RebuildRequest,
  progress: Progress,
): Promise<RebuildReport> {
  const reports: RebuildReport[] = [];
  // The records may just have been restored.
  if (request.fromEmpty) await new EndpointVersions(installation.store).removeAdded();
  for (const part of partsOf(installation, request)) {
    reports.push(await rebuildPart(installation, { ...request, projections: part.projections }, part, progress));
  }
  return {
    records: reports.reduce((sum, { records }) => sum + records, 0),
    foldedBefore: reports.reduce((sum, { foldedBefore }) => sum + foldedBefore, 0),
    foreign: reports.reduce((sum, { foreign }) => sum + foreign, 0),
    kept: reports.reduce((sum, { kept }) => sum + kept, 0),
    compared: request.fromEmpty ? null : together(reports.flatMap(({ compared }) => compared ?? [])),
  };
}

/** The projections of one database. */
interface RebuildPart {
  readonly store: Store;
  readonly databaseUrl: string;
  readonly projections: readonly ProjectionName[];
  /** Whether the database has the feed of that partition of the log. */
  readonly isOwn: (partition: number) => boolean;
}

/** The main database has the deliveries. If others share the feed, each has a part of it. */
function partsOf({ config, store }: Installation, { projections }: RebuildRequest): readonly RebuildPart[] {
  const { all, mainPlace } = store.feed;
  const isOwnOf = (place: number | null) => (partition: number) => partition % all.length === place;
  const inMain = projections.filter((name) => name !== 'feed' || mainPlace !== null);
  const main = { store, databaseUrl: config.databaseUrl, projections: inMain, isOwn: isOwnOf(mainPlace) };
  const others = projections.includes('feed') ? store.feed.others : [];
  return [
    ...(inMain.length === 0 ? [] : [main]),
    ...others.map(({ store: other, place }): RebuildPart => {
      return { store: other, databaseUrl: other.databaseUrl, projections: ['feed'], isOwn: isOwnOf(place) };
    }),
  ];
}

async function rebuildPart(
  installation: Installation,
  request: RebuildRequest,
  part: RebuildPart,
  progress: Progress,
): Promise<RebuildReport> {
  const { topics } = installation;
  const options = {
    ...foldStoreOptions(part.databaseUrl),
    topics: { feed: topics.log, deliveries: topics.deliveries },
    work: workOf(installation, request, part),
    startsOver: request.startsOver,
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  };
  return ProjectionShadow.with(part.store, options, async (shadow) => {
    const run = new Rebuild(installation, part, request, shadow, progress);
    const foldedBefore = shadow.goesOn ? await run.goOn() : 0;
    await run.foldUntilClose();
    // With `--from-empty`, the served events are lost or wrong.
    const kept = request.fromEmpty || !request.projections.includes('feed') ? 0 : await run.keepOlder();
    const compared = request.fromEmpty ? null : await run.compare();
    // To compare takes long, and the projectors wait for what is left.
    if (compared !== null) await run.foldUntilClose();
    await run.takePlace();
    return { records: run.records, foldedBefore, foreign: run.foreign, kept, compared };
  });
}

/** What decides what a rebuild makes of the records. Another version may fold them differently. */
export function workOf(
  { topics, config, store }: Installation,
  { fromEmpty }: RebuildRequest,
  part: RebuildPart,
): string {
  const { partitions, autoDisableAfter } = config;
  const places = Array.from({ length: partitions }, (_, partition) => partition).filter(part.isOwn);
  return JSON.stringify({
    version: VERSION,
    topics: [topics.log, topics.deliveries],
    projections: part.projections,
    databases: store.feed.all.length,
    places,
    fromEmpty,
    autoDisableAfter,
  });
}

/** Adds up what was found of each table in several databases. */
function together(found: readonly TableComparison[]): readonly TableComparison[] {
  const byTable = new Map<string, TableComparison>();
  for (const { table, rows, differing } of found) {
    const before = byTable.get(table) ?? { rows: 0, differing: 0 };
    byTable.set(table, { table, rows: before.rows + rows, differing: before.differing + differing });
  }
  return [...byTable.values()];
}

class Rebuild {
  records = 0;
  foreign = 0;
  readonly #folds: readonly ProjectionFold[];
  readonly #days: DayPartitions;
  #threads: number | null;

  constructor(
    private readonly installation: Installation,
    private readonly part: RebuildPart,
    private readonly request: RebuildRequest,
    private readonly shadow: ProjectionShadow,
    private readonly progress: Progress,
  ) {
    const { connection, topics } = installation;
    this.#threads = request.threads;
    this.#days = new DayPartitions(shadow.store);
    const topicOf = { feed: topics.log, deliveries: topics.deliveries };
    this.#folds = request.projections.map((name) => {
      const beginAt = (partition: number, offset: number) => shadow.beginAt(name, partition, offset);
      return new ProjectionFold(name, { connection, topic: topicOf[name], fold: this.#foldOf(name), beginAt });
    });
  }

  #foldOf(projection: ProjectionName): FoldStretches {
    const { connection, config } = this.installation;
    const { fromEmpty } = this.request;
    const { databaseUrl } = this.part;
    const rules: FoldRules =
      projection === 'feed' ? { projection } : { projection, autoDisableAfter: config.autoDisableAfter, fromEmpty };
    const onFolded = (records: number, foreign: number) => {
      this.records += records;
      this.foreign += foreign;
      this.progress.advance(records);
    };
    const here = foldHere(connection, this.shadow.tables, rules, onFolded);
    return (stretches) => {
      const threads = threadsFor(stretches, this.#threads);
      if (threads === 1) return here(stretches);
      const order = { config, databaseUrl, isShadow: true, rules };
      return foldOnThreads(threads, order, onFolded, this.shadow.lost)(stretches);
    };
  }

  /** Goes on where an earlier rebuild was interrupted. @returns how many records that one folded */
  async goOn(): Promise<number> {
    let folded = 0;
    for (const fold of this.#folds) {
      folded += await fold.goOnFrom(await this.shadow.positions(fold.projection, parseAnchor));
    }
    return folded;
  }

  /** Folds until the projectors can wait for the few records that are left. */
  async foldUntilClose(): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const positions = await this.shadow.servedPositions();
      const targets = await Promise.all(
        this.#folds.map(async (fold) => {
          const served = this.#ownOf(fold, positions[fold.projection]);
          return this.request.fromEmpty ? furthest(this.#ownOf(fold, await fold.ends()), served) : served;
        }),
      );
      const distance = this.#folds.reduce((sum, fold, index) => sum + fold.distanceTo(targets[index] ?? new Map()), 0);
      if (distance < LAST_STRETCH && round > 0) break;
      this.progress.begin(this.records === 0 ? 'folding' : 'catching up', distance);
      try {
        // The feed first: an endpoint that `--from-empty` disables notes how far the feed of its organization is.
        for (const [index, fold] of this.#folds.entries()) await fold.foldTo(targets[index] ?? new Map());
      } finally {
        this.progress.end();
      }
    }
    await this.#days.prune(this.request.clock.now(), this.installation.config.retentionMs);
  }

  /** Keeps what the served feed has within retention and the log has no longer. @returns how many events these are */
  async keepOlder(): Promise<number> {
    const { partitions } = this.installation.config;
    const isOwn = (orgId: OrgId) => this.part.isOwn(partitionOf(orgId, partitions));
    const sinceMs = await this.#prunedBefore();
    return this.shadow.keepOlder({ isOwn, sinceMs }, (positions) => this.#foldTo(positions));
  }

  /** Compares a snapshot of the served tables with the shadow, which is first folded up to the same offsets. */
  async compare(): Promise<readonly TableComparison[]> {
    const { topics } = this.installation;
    const ofProjection = { feed: topics.log, deliveries: topics.deliveries };
    return this.part.store.snapshot(async (served) => {
      const positions = await readPositions(served, ofProjection);
      await this.#foldTo(positions);
      const sinceMs = await this.#prunedBefore();
      return this.shadow.store.snapshot((rebuilt) =>
        compareProjections(served, rebuilt, this.request.projections, { sinceMs, progress: this.progress }),
      );
    });
  }

  async takePlace(): Promise<void> {
    // The projectors wait for the last stretch, and a thread takes a second to start.
    this.#threads = 1;
    await this.shadow.takePlace(this.request.projections, (positions) => this.#foldTo(positions));
  }

  async #foldTo(positions: ProjectionPositions): Promise<void> {
    for (const fold of this.#folds) await fold.foldTo(this.#ownOf(fold, positions[fold.projection]));
  }

  /** Leaves out partitions whose feed is in another database now: this one may have had them in an earlier list. */
  #ownOf({ projection }: ProjectionFold, offsets: Positions): Positions {
    return projection === 'feed' ? new Map([...offsets].filter(([partition]) => this.part.isOwn(partition))) : offsets;
  }

  async #prunedBefore(): Promise<number> {
    return this.#days.prunedBefore(this.request.clock.now(), this.installation.config.retentionMs);
  }
}

function furthest(one: Positions, other: Positions): Positions {
  return new Map(
    [...new Set([...one.keys(), ...other.keys()])].map((partition) => [
      partition,
      Math.max(one.get(partition) ?? 0, other.get(partition) ?? 0),
    ]),
  );
}
