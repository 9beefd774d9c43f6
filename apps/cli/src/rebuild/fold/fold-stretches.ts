import { factEndpointId, type EndpointId } from '#libs/domain';
import { DeliveryProjection, FeedProjection, type Projected, type Store, type Stretch } from '#libs/postgres';
import {
  anchorOf,
  anchorText,
  LogPositions,
  readLogRecords,
  readPartitions,
  streamPartitions,
  type KafkaConnection,
  type RecordBatch,
} from '#libs/kafka-log';
import { CliError } from '../../cli-error.js';
import { factOf } from '../../fact-of.js';

/** A part of a partition, from an offset to before another one. */
export interface FoldStretch {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Folds stretches of different partitions.
 * @returns the end offset of each, by `topic/partition`
 * @throws CliError when the topic lost some of the records
 */
export type FoldStretches = (stretches: readonly FoldStretch[]) => Promise<ReadonlyMap<string, number>>;

/** Gets how many records were folded since the last call, and how many of them are not facts. */
export type OnFolded = (records: number, foreign: number) => void;

/** What decides what records become. */
export type FoldRules =
  | {
      readonly projection: 'feed';
      /** What to do if the topic has lost records since an earlier fold. Default: the error says that it has. */
      readonly advice?: string;
    }
  | {
      readonly projection: 'deliveries';
      readonly autoDisableAfter: number;
      /** Whether endpoints that failed too often may still be active. */
      readonly fromEmpty: boolean;
    };

/** Where a fold writes. */
export interface FoldTables {
  readonly store: Store;
  /** Gets endpoints before their facts are folded. */
  note(endpoints: readonly EndpointId[]): Promise<void>;
}

/** The tables of a feed alone, which has no endpoints to note. */
export function feedTables(store: Store): FoldTables {
  return { store, note: () => Promise.resolve() };
}

/**
 * Partitions that are folded at the same time. The statements of one wait for Postgres while records of another are decoded.
 */
export const PARTITIONS_AT_ONCE = 4;

/** Folds in this thread. */
export function foldHere(
  connection: KafkaConnection,
  tables: FoldTables,
  rules: FoldRules,
  onFolded: OnFolded,
): FoldStretches {
  const fold = batchFold(connection, tables, rules, onFolded);
  return (stretches) =>
    streamPartitions(connection, stretches, fold, {
      partitionsAtOnce: PARTITIONS_AT_ONCE,
      // An unreadable batch of the log may have events, so it ends the fold.
      ...(rules.projection === 'deliveries' ? { unreadable: 'given' as const } : {}),
    });
}

/** Returns what folds a batch, as the projector does. It gets the batches of a partition in order. */
export function batchFold(
  connection: KafkaConnection,
  tables: FoldTables,
  rules: FoldRules,
  onFolded: OnFolded,
): (batch: RecordBatch) => Promise<void> {
  const apply = rules.projection === 'feed' ? feedFold(tables) : deliveryFold(tables, rules);
  /** The offset after the last record of each partition that was folded here. */
  const reached = new Map<number, number>();
  return async ({ topic, partition, records }) => {
    const last = records.at(-1);
    if (last === undefined) return;
    const firstOffset = records[0]?.unreadable?.firstOffset ?? records[0]?.offset ?? 0;
    const anchor = anchorText(anchorOf(last));
    const stretch = {
      projection: rules.projection,
      topic,
      partition,
      firstOffset,
      nextOffset: last.offset + 1,
      anchor,
    };
    let folded = await apply(stretch, records);
    if (folded.projected.kind === 'behind') {
      const from = folded.projected.nextOffset;
      const between = { topic, partition, from, to: firstOffset };
      if (await holdsNothing(connection, between, reached.get(partition) === from)) {
        folded = await apply({ ...stretch, firstOffset: from }, records);
      }
    }
    if (folded.projected.kind === 'behind') {
      const advice = rules.projection === 'feed' && rules.advice !== undefined ? ` ${rules.advice}` : '';
      throw new CliError(
        `${topic}/${partition} has lost the records from ${folded.projected.nextOffset} to ${firstOffset - 1}${advice}`,
      );
    }
    reached.set(partition, stretch.nextOffset);
    onFolded(records.length, folded.foreign);
  };
}

/**
 * Whether a stretch has offsets only: those of markers of transactions, and of aborted records.
 * @param isRead whether it was read, and handed no record over
 */
async function holdsNothing(connection: KafkaConnection, stretch: FoldStretch, isRead: boolean): Promise<boolean> {
  let records = 0;
  if (!isRead) await readPartitions(connection, [stretch], () => records++, { unreadable: 'given' });
  if (records > 0) return false;
  // Its records may have been removed before they were read.
  const bounds = await new LogPositions(connection).bounds(stretch.topic);
  return (bounds.get(stretch.partition)?.begin ?? 0) <= stretch.from;
}

type Apply = (
  stretch: Stretch,
  records: RecordBatch['records'],
) => Promise<{ readonly projected: Projected; readonly foreign: number }>;

function feedFold({ store }: FoldTables): Apply {
  const projection = new FeedProjection(store);
  return async (stretch, records) => ({
    projected: await projection.apply(stretch, readLogRecords(records)),
    foreign: 0,
  });
}

function deliveryFold(
  tables: FoldTables,
  { autoDisableAfter, fromEmpty }: Extract<FoldRules, { projection: 'deliveries' }>,
): Apply {
  // Endpoints that failed too often are inactive already. With `--from-empty`, their records may be older than the facts.
  const projection = new DeliveryProjection(tables.store, autoDisableAfter, fromEmpty ? 'disable' : 'leave');
  return async (stretch, records) => {
    // The projector has put records that are not facts into the dead letters.
    const facts = records.flatMap((record) => {
      const fact = factOf(record);
      return fact === undefined ? [] : [{ offset: record.offset, fact }];
    });
    await tables.note(facts.map(({ fact }) => factEndpointId(fact)));
    return { projected: await projection.apply(stretch, facts), foreign: records.length - facts.length };
  };
}
