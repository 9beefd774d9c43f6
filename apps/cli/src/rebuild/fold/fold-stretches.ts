import { factEndpointId } from '#libs/domain';
import {
  DeliveryProjection,
  FeedProjection,
  type Projected,
  type ProjectionName,
  type ShadowTables,
  type Stretch,
} from '#libs/postgres';
import {
  anchorOf,
  anchorText,
  readLogRecords,
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
export interface FoldRules {
  readonly projection: ProjectionName;
  readonly autoDisableAfter: number;
  /** Whether endpoints that failed too often may still be active. */
  readonly fromEmpty: boolean;
}

/**
 * Partitions that are folded at the same time. The statements of one wait for Postgres while records of another are decoded.
 */
const PARTITIONS_AT_ONCE = 4;

/** Folds in this thread, as the projector does. */
export function foldHere(
  connection: KafkaConnection,
  tables: ShadowTables,
  rules: FoldRules,
  onFolded: OnFolded,
): FoldStretches {
  const apply = rules.projection === 'feed' ? feedFold(tables) : deliveryFold(tables, rules);
  const fold = async ({ topic, partition, records }: RecordBatch): Promise<void> => {
    const firstOffset = records[0]?.unreadable?.firstOffset ?? records[0]?.offset ?? 0;
    const last = records.at(-1);
    const anchor = last === undefined ? {} : { anchor: anchorText(anchorOf(last)) };
    const nextOffset = (last?.offset ?? 0) + 1;
    const stretch = { projection: rules.projection, topic, partition, firstOffset, nextOffset, ...anchor };
    const { projected, foreign } = await apply(stretch, records);
    if (projected.kind === 'behind') {
      throw new CliError(
        `${topic}/${partition} has lost the records from ${projected.nextOffset} to ${firstOffset - 1}`,
      );
    }
    onFolded(records.length, foreign);
  };
  return (stretches) =>
    streamPartitions(connection, stretches, fold, {
      partitionsAtOnce: PARTITIONS_AT_ONCE,
      // An unreadable batch of the log may have events, so it ends the rebuild.
      ...(rules.projection === 'deliveries' ? { unreadable: 'given' as const } : {}),
    });
}

type Apply = (
  stretch: Stretch,
  records: RecordBatch['records'],
) => Promise<{ readonly projected: Projected; readonly foreign: number }>;

function feedFold({ store }: ShadowTables): Apply {
  const projection = new FeedProjection(store);
  return async (stretch, records) => ({
    projected: await projection.apply(stretch, readLogRecords(records)),
    foreign: 0,
  });
}

function deliveryFold(tables: ShadowTables, { autoDisableAfter, fromEmpty }: FoldRules): Apply {
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
