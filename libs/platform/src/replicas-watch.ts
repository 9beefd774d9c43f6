import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { ReplicaLook, Store, type ReadReplica, type ReplicaState } from '#libs/postgres';
import { HealthBoard, Regularly, type Logger } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { CLOCK, LOGGER } from './tokens.js';

const LOOK_EVERY_MS = 1_000;
const FIRST_LOOK_AFTER_MS = 2_000;

/**
 * Looks at the replicas each second, and reports those that are left out. Without them, the primary serves everything: the
 * process starts and stays ready.
 */
@Injectable()
export class ReplicasWatch implements OnApplicationBootstrap, BeforeApplicationShutdown {
  /** One for each: a replica that does not answer delays no other. */
  readonly #works: readonly Regularly[];
  readonly #looks: readonly ReplicaLook[];
  readonly #reported = new Map<ReadReplica<Store>, string>();

  constructor(
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
    store: Store,
    private readonly health: HealthBoard,
    private readonly metrics: Metrics,
  ) {
    const looks = store.replicas.all.map((replica) => [replica, new ReplicaLook(store, replica, clock)] as const);
    this.#looks = looks.map(([, look]) => look);
    this.#works = looks.map(
      ([replica, look]) =>
        new Regularly({
          everyMs: LOOK_EVERY_MS,
          // The databases of the feed are opened first.
          firstAfterMs: FIRST_LOOK_AFTER_MS,
          act: async () => {
            // `Platform` reports what it waits for until then.
            if (store.isOpen) this.#report(replica, await look.look());
            return undefined;
          },
          onFailure: (error) => {
            this.logger.error({ err: error }, 'replica.watch_failed');
          },
        }),
    );
  }

  onApplicationBootstrap(): void {
    for (const work of this.#works) work.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.#works.map((work) => work.stop()));
    for (const look of this.#looks) look.close();
  }

  #report(replica: ReadReplica<Store>, state: ReplicaState): void {
    if (state.kind === 'unknown') return;
    const { name: server } = replica;
    const part = `read replica ${server}`;
    this.metrics.set('gapless_replica_up', { server }, state.kind === 'serves' ? 1 : 0);
    if (state.lagMs === null) this.metrics.remove('gapless_replica_lag_seconds', { server });
    else this.metrics.set('gapless_replica_lag_seconds', { server }, state.lagMs / 1_000);
    if (state.kind === 'serves') {
      this.health.ready(part);
      if (this.#reported.delete(replica)) this.logger.info({ server }, 'replica.back');
      return;
    }
    const { reason } = state;
    this.health.degraded(part, reason);
    if (this.#reported.get(replica) === reason) return;
    this.#reported.set(replica, reason);
    this.logger.error({ server, reason }, 'replica.left_out');
  }
}
