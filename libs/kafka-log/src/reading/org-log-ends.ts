import type { OrgId } from '#libs/domain';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { hasLeader } from './known-values.js';
import { LogPositions } from './log-positions.js';
import { partitionOf } from '../topics/partition-of.js';

/** Reads the end of an org's partition of the log. Every record before it was appended before the call. */
export class OrgLogEnds {
  readonly #positions: LogPositions;

  constructor(
    connection: KafkaConnection,
    private readonly logTopic: string,
    private readonly partitions: number,
  ) {
    this.#positions = new LogPositions(connection);
  }

  /**
   * Returns the ends for any number of orgs, with one request to the brokers. It leaves out orgs whose partition has no
   * leader.
   */
  async of(orgIds: readonly OrgId[]): Promise<ReadonlyMap<OrgId, number>> {
    const ends = await this.#positions.ends(this.logTopic);
    const places = orgIds.map((orgId) => ({ orgId, partition: partitionOf(orgId, this.partitions) }));
    const known = places.filter(({ partition }) => hasLeader(ends, partition));
    return new Map(known.map(({ orgId, partition }) => [orgId, ends.get(partition) ?? 0]));
  }
}
