import type { OrgId } from '#libs/domain';
import type { KafkaConnection } from '../connection/kafka-connection.js';
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

  /** Returns the ends for any number of orgs, with one request to the brokers. */
  async of(orgIds: readonly OrgId[]): Promise<ReadonlyMap<OrgId, number>> {
    const ends = await this.#positions.ends(this.logTopic);
    return new Map(orgIds.map((orgId) => [orgId, ends.get(partitionOf(orgId, this.partitions)) ?? 0]));
  }
}
