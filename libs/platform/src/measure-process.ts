import { VERSION } from '#libs/domain';
import type { Store } from '#libs/postgres';
import type { Metrics } from '#libs/telemetry';
import type { HealthBoard } from '#libs/runtime';

/** Adds the metrics that every process has. */
export function measureProcess(metrics: Metrics, app: string, health: HealthBoard, store: Store): void {
  metrics.measureProcess();
  metrics.set('gapless_build_info', { app, version: VERSION }, 1);
  metrics.beforeScrape(() => {
    metrics.set('gapless_ready', {}, health.isReady ? 1 : 0);
    const { busy, idle, waiting } = store.connections;
    metrics.set('gapless_postgres_connections', { state: 'busy' }, busy);
    metrics.set('gapless_postgres_connections', { state: 'idle' }, idle);
    metrics.set('gapless_postgres_queries_waiting', {}, waiting);
  });
}
