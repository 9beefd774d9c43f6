import { judgeReplica, WalEnds, type Clock, type DatabaseLook, type PrimaryLook } from '#libs/domain';
import { durationText } from '#libs/runtime';
import { awayReason, isTableMissing } from '../postgres-away.js';
import { PostgresProbe } from '../postgres-probe.js';
import type { FeedServer, Store } from '../store.js';
import type { ReadReplica } from './read-replicas.js';

/** One statement for primaries and standbys. The log of a primary counts as far as it is on disk: no standby gets more. */
const LOOK = `
  select
    pg_is_in_recovery() as is_standby,
    (select system_identifier::text from pg_control_system()) as system_id,
    (select timeline_id from pg_control_checkpoint()) as timeline,
    (select id from installation) as installation,
    (select feed_place from installation) as feed_place,
    pg_wal_lsn_diff(
      case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end, '0/0'
    )::text as wal_end`;

interface LookRow {
  readonly is_standby: boolean;
  readonly system_id: string;
  readonly timeline: number;
  readonly installation: string | null;
  readonly feed_place: number | null;
  readonly wal_end: string | null;
}

/** What a look at a replica found. */
export type ReplicaState =
  /** @member lagMs how old it may be: up to a second more than it is, because looks are a second apart */
  | { readonly kind: 'serves'; readonly lagMs: number }
  | { readonly kind: 'left-out'; readonly reason: string; readonly lagMs: number | null }
  /** It has not been looked at for long enough to know how old it is. */
  | { readonly kind: 'unknown' };

/** Looks at a replica and at its primary, each on a connection of its own: all of the pools may be busy. */
export class ReplicaLook {
  readonly #probe: PostgresProbe;
  readonly #ends = new WalEnds();
  #primary: { readonly server: FeedServer; readonly probe: PostgresProbe } | null = null;
  #replayed: bigint | null = null;

  constructor(
    private readonly store: Store,
    private readonly replica: ReadReplica<Store>,
    private readonly clock: Clock,
  ) {
    this.#probe = probeOf(replica.store.databaseUrl);
  }

  /** Looks, and lets the replica serve or leaves it out. */
  async look(): Promise<ReplicaState> {
    try {
      const state = await this.#look();
      if (state.kind !== 'serves') this.store.replicas.leaveOut(this.replica);
      return state;
    } catch (error) {
      this.store.replicas.leaveOut(this.replica);
      return { kind: 'left-out', reason: reasonOf(error), lagMs: null };
    }
  }

  close(): void {
    this.#probe.close();
    this.#forgetPrimary();
  }

  async #look(): Promise<ReplicaState> {
    const askedMs = this.clock.now();
    const primaries = await this.#primaries();
    const found = await lookBy(this.#probe);
    const verdict = judgeReplica(found, primaries, this.#replayed);
    this.#replayed = found.walEnd;
    if (verdict.kind === 'refuse') {
      this.#forgetPrimary();
      return { kind: 'left-out', reason: verdict.reason, lagMs: null };
    }
    const { place, walEnd } = verdict.primary;
    this.#ends.note(walEnd, askedMs);
    this.#follow(place);
    const freshAtMs = this.#ends.freshAt(found.walEnd);
    const lagMs = this.clock.now() - (freshAtMs ?? this.#ends.sinceMs);
    const { maxLagMs } = this.store.replicas.options;
    if (lagMs > maxLagMs) {
      const reason = `It is more than ${durationText(maxLagMs)} behind (REPLICA_MAX_LAG).`;
      return { kind: 'left-out', reason, lagMs };
    }
    if (freshAtMs === null) return { kind: 'unknown' };
    if (!this.replica.store.isOpen) await this.replica.store.openNow();
    this.store.replicas.serves(this.replica, { place, freshAtMs });
    return { kind: 'serves', lagMs };
  }

  /** Asks the primary; while it is unknown, every database that holds a part of the feed. */
  async #primaries(): Promise<readonly PrimaryLook[]> {
    // The feed may have moved to other databases.
    if (this.#primary !== null && !this.store.feed.all.includes(this.#primary.server)) this.#forgetPrimary();
    if (this.#primary !== null) {
      const { server, probe } = this.#primary;
      try {
        return [{ ...(await lookBy(probe)), place: server.place }];
      } catch (error) {
        throw new Error(`Its primary cannot be asked: ${awayReason(error)}`, { cause: error });
      }
    }
    const looked = this.store.feed.reachable.map(async ({ place, store }): Promise<readonly PrimaryLook[]> => {
      try {
        const [row] = await store.query<LookRow>(LOOK);
        return row === undefined ? [] : [{ ...lookOf(row), place }];
      } catch {
        // Its own watch reports it.
        return [];
      }
    });
    return (await Promise.all(looked)).flat();
  }

  #follow(place: number): void {
    if (this.#primary !== null) return;
    const server = this.store.feed.all.find((one) => one.place === place);
    if (server !== undefined) this.#primary = { server, probe: probeOf(server.store.databaseUrl) };
  }

  #forgetPrimary(): void {
    this.#primary?.probe.close();
    this.#primary = null;
  }
}

function probeOf(databaseUrl: string): PostgresProbe {
  return new PostgresProbe({ databaseUrl, applicationName: 'gapless-replicas' });
}

async function lookBy(probe: PostgresProbe): Promise<DatabaseLook> {
  const [row] = await probe.query<LookRow>(LOOK);
  if (row === undefined) throw new Error('a statement without a row');
  return lookOf(row);
}

function lookOf(row: LookRow): DatabaseLook {
  return {
    isStandby: row.is_standby,
    systemId: row.system_id,
    timeline: row.timeline,
    installation: row.installation,
    feedPlace: row.feed_place,
    walEnd: BigInt(row.wal_end ?? '0'),
  };
}

function reasonOf(error: unknown): string {
  return isTableMissing(error) ? 'It is no database of Gapless: it has no tables.' : awayReason(error);
}
