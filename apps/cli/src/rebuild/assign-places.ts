import { SEQ_NONE, type OrgId, type Seq } from '#libs/domain';
import { FeedLists, FeedMove, FeedPlaces } from '#libs/postgres';
import { LogPositions, partitionOf, readCheckpoint, readPartitions } from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import { refuseIfRunning, refuseRunning } from '../repair/group-places.js';
import type { Progress } from '../verify/progress.js';
import { rebuild, type RebuildReport, type RebuildRequest } from './rebuild.js';

/**
 * Builds the feed in the databases of PROJECTION_DATABASE_URLS from the log, and gives each its place. Nothing may run
 * meanwhile. After an interruption, no process starts until the same command has ended.
 * @throws CliError when a stage runs
 */
export async function assignPlaces(
  installation: Installation,
  request: Pick<RebuildRequest, 'startsOver' | 'threads' | 'clock'>,
  progress: Progress,
): Promise<RebuildReport> {
  const { store, config } = installation;
  await refuseIfRunning(installation);
  // An api is in no group of Kafka, and would go on with its list.
  refuseRunning(await new FeedLists(store).connections());
  const places = new FeedPlaces(store);
  const list = await places.beginMove();
  const report = await rebuild(installation, { ...request, projections: ['feed'], fromEmpty: true }, progress);
  const lastSeqs = await checkpointedSeqs(installation);
  const { all, mainPlace } = store.feed;
  for (const server of all) {
    const isHere = (orgId: OrgId) => partitionOf(orgId, config.partitions) % all.length === server.place;
    await new FeedMove(server.store).settleHeads(isHere, lastSeqs);
  }
  if (mainPlace === null) await new FeedMove(store).empty();
  await places.endMove(list);
  return report;
}

/** Returns the last seqs in the checkpoints: also of orgs whose events have all left the log. */
async function checkpointedSeqs({ connection, topics }: Installation): Promise<ReadonlyMap<OrgId, Seq>> {
  const found = new Map<OrgId, Seq>();
  const partitions = [...(await new LogPositions(connection).ends(topics.sequences)).keys()];
  await readPartitions(
    connection,
    partitions.map((partition) => ({ topic: topics.sequences, partition, from: 0 })),
    (record) => {
      const checkpoint = readCheckpoint(record);
      if (checkpoint.kind !== 'snapshot') return;
      const { orgId, lastSeq, isReset } = checkpoint;
      if (isReset || lastSeq > (found.get(orgId) ?? SEQ_NONE)) found.set(orgId, lastSeq);
    },
  );
  return found;
}
