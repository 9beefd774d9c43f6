import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { request } from 'undici';
import { AlertClaims, AlertOutbox, ChatQueueProjection, Store } from '#libs/postgres';
import { Appender, KafkaConnection, LogPositions, PartitionWriter, SEQUENCER_GROUP, topicNames } from '#libs/kafka-log';
import { createLogger } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { AlertPublisher } from '../../../apps/alerting/src/alert-publisher.js';
import { CaughtUpPartitions } from '../../../apps/alerting/src/caught-up-partitions.js';
import { FoldedInbox } from '../../../apps/alerting/src/folded-inbox.js';
import { Sweep } from '../../../apps/alerting/src/sweep.js';
import type { Bench } from '../bench.js';
import { figure, type Figure } from '../figures/figure.js';
import { Histogram } from '../figures/histogram.js';
import type { Scenario } from '../scenario.js';
import type { GaplessProcess } from '../system/gapless-process.js';

const ORGS = 500;
const WAITING = [5_000, 50_000];
const CROSSING = [100, 1_000];
const IDLE_SWEEPS = 20;
const REQUEST_EVENTS = 500;
/** Of waiting chats: past no threshold; of those that cross: past the first of the defaults. */
const FRESH_MS = 0;
const OVERDUE_MS = 120_000;
const POLL_MS = 250;
const PREFIX = 'gapless';

/** What one sweep took. */
interface Measured {
  readonly totalMs: number;
  readonly postgresMs: number;
  readonly raised: number;
  readonly statements: readonly string[];
}

/** Notes each statement that this process asks Postgres, in order. */
class Statements {
  #noted: string[] = [];

  /** @returns what takes this back */
  watch(): () => void {
    const note = (text: unknown) => this.#noted.push(textOf(text));
    // oxlint-disable-next-line typescript/unbound-method -- it is called on the client that it belongs to
    const original = Client.prototype.query as unknown as (this: Client, ...args: unknown[]) => unknown;
    Client.prototype.query = function (this: Client, ...args: unknown[]) {
      note(args[0]);
      return original.apply(this, args);
    } as unknown as typeof Client.prototype.query;
    return () => {
      Client.prototype.query = original as unknown as typeof Client.prototype.query;
    };
  }

  take(): readonly string[] {
    return this.#noted.splice(0);
  }
}

/** By its name, if it is prepared, else how it begins. */
function textOf(query: unknown): string {
  const { name, text = '' } = typeof query === 'string' ? { text: query } : (query as { name?: string; text?: string });
  return name ?? text.replaceAll(/\s+/g, ' ').trim().slice(0, 60);
}

/** A store that knows how long Postgres took. */
class MeasuredStore extends Store {
  busyMs = 0;

  override query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return this.#measure(() => super.query<Row>(sql, parameters));
  }

  override prepared<Row>(name: string, sql: string, parameters: readonly unknown[]): Promise<readonly Row[]> {
    return this.#measure(() => super.prepared<Row>(name, sql, parameters));
  }

  async #measure<T>(act: () => Promise<T>): Promise<T> {
    const began = performance.now();
    try {
      return await act();
    } finally {
      this.busyMs += performance.now() - began;
    }
  }
}

/** One more process that could sweep, and this bench's view of the queues. */
class Sweeper {
  readonly #statements = new Statements();
  readonly #store: MeasuredStore;
  readonly #sweep: Sweep;

  private constructor(
    private readonly bench: Bench,
    { credentials }: GaplessProcess,
    appender: Appender,
    connection: KafkaConnection,
    writer: PartitionWriter,
    nowMs: number,
  ) {
    const logger = createLogger('silent', 'bench');
    this.#store = new MeasuredStore({
      databaseUrl: credentials.database_url,
      applicationName: 'gapless-bench',
      logger,
      migratesWhenOpened: false,
    });
    const topics = topicNames(PREFIX, []);
    const positions = new LogPositions(connection);
    const clock = { now: () => nowMs };
    this.#sweep = new Sweep({
      caughtUp: new CaughtUpPartitions({
        positions,
        projection: new ChatQueueProjection(this.#store),
        folded: new FoldedInbox(),
        topics,
        sequencerGroup: `${PREFIX}-${SEQUENCER_GROUP}`,
        patienceMs: 60_000,
        signal: bench.signal,
      }),
      claims: new AlertClaims(this.#store),
      publisher: new AlertPublisher({
        outbox: new AlertOutbox(this.#store),
        connection,
        positions,
        appender,
        writer,
        topics,
        clock,
        logger,
      }),
      mails: false,
      clock,
      logger,
      metrics: new Metrics(),
    });
  }

  static async start(bench: Bench, gapless: GaplessProcess, nowMs: number): Promise<Sweeper> {
    const brokers = gapless.credentials.kafka_brokers.split(',');
    const connection = new KafkaConnection({ brokers, clientId: 'bench', logger: createLogger('silent', 'bench') });
    const appender = new Appender(connection, { retries: 4 });
    const writer = new PartitionWriter(connection);
    await appender.connect();
    const sweeper = new Sweeper(bench, gapless, appender, connection, writer, nowMs);
    await sweeper.#store.open(() => undefined);
    const stopWatching = sweeper.#statements.watch();
    bench.onEnd(async () => {
      stopWatching();
      await Promise.all([appender.close(), writer.close(), sweeper.#store.close()]);
    });
    return sweeper;
  }

  /** Waits until so many chats wait. */
  async untilWaiting(count: number): Promise<void> {
    for (;;) {
      const [row] = await this.#store.query<{ waiting: string }>('select sum(waiting) as waiting from chat_queues');
      if (Number(row?.waiting) >= count) return;
      await delay(POLL_MS, undefined, { signal: this.bench.signal });
    }
  }

  async measure(): Promise<Measured> {
    this.#statements.take();
    this.#store.busyMs = 0;
    const began = performance.now();
    const { raised } = await this.#sweep.round();
    const totalMs = performance.now() - began;
    return { totalMs, postgresMs: this.#store.busyMs, raised, statements: this.#statements.take() };
  }
}

/** Puts so many chats in the queues, as a product service does, spread over the orgs. */
async function handOff(
  bench: Bench,
  { credentials }: GaplessProcess,
  orgs: readonly string[],
  count: number,
  occurredAtMs: number,
): Promise<void> {
  const occurredAt = new Date(occurredAtMs).toISOString();
  for (let from = 0; from < count; from += REQUEST_EVENTS) {
    const events = Array.from({ length: Math.min(REQUEST_EVENTS, count - from) }, (_, index) => {
      const id = `cnv_${randomUUID()}`;
      return {
        event: 'conversation.handed_off',
        org_id: orgs[(from + index) % orgs.length],
        occurred_at: occurredAt,
        data: {
          conversation: {
            id,
            subject: 'Where is my parcel?',
            url: `https://dashboard.example.com/conversations/${id}`,
          },
          widget: { id: '0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21', name: 'Shop' },
          channel: 'widget',
          department: { id: 'dep_7', name: 'Shipping' },
          visitor: { id: 'vis_88213', name: 'Jonas Weber', email: 'jonas.weber@example.com', verified: true },
        },
      };
    });
    const answer = await request(`${credentials.base_url}/api/v1/internal/events`, {
      method: 'POST',
      headers: { 'x-api-key': credentials.service_key, 'content-type': 'application/json' },
      body: JSON.stringify({ events }),
      signal: bench.signal,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 202) throw new Error(`ingest was answered ${answer.statusCode}: ${text}`);
  }
}

function figuresOf(what: string, total: Histogram, postgres: Histogram, statements: number): readonly Figure[] {
  return [
    figure(`${what}: sweep, p50`, total.quantile(0.5), 'ms'),
    figure(`${what}: of it in Postgres, p50`, postgres.quantile(0.5), 'ms'),
    figure(`${what}: statements`, statements, ''),
  ];
}

async function idle(sweeper: Sweeper, what: string): Promise<readonly Figure[]> {
  const [total, postgres] = [new Histogram(), new Histogram()];
  let statements = 0;
  for (let i = 0; i < IDLE_SWEEPS; i++) {
    const measured = await sweeper.measure();
    if (measured.raised > 0) throw new Error(`${measured.raised} alerts were raised by a sweep that has none to raise`);
    total.record(measured.totalMs);
    postgres.record(measured.postgresMs);
    statements = measured.statements.length;
  }
  return figuresOf(`${what}, 0 cross`, total, postgres, statements);
}

export const sweep: Scenario = {
  name: 'sweep',
  description: 'one sweep of 5,000 and of 50,000 waiting chats over 500 orgs, of which none, 100 and 1,000 cross',
  limitMs: 600_000,
  async run(bench) {
    const gapless = await bench.ownGapless({ environment: { SWEEP_INTERVAL: '1d' } });
    const orgs = Array.from({ length: ORGS }, () => randomUUID());
    // Ahead of the clock of Gapless, which would raise the alerts itself at the thresholds.
    const nowMs = Date.now() + 3_600_000;
    const sweeper = await Sweeper.start(bench, gapless, nowMs);
    const figures: Figure[] = [];
    let waiting = 0;
    for (const wanted of WAITING) {
      bench.print(`having ${wanted.toLocaleString('en-US')} chats wait`);
      await handOff(bench, gapless, orgs, wanted - waiting, nowMs - FRESH_MS);
      waiting = wanted;
      await sweeper.untilWaiting(waiting);
      const what = `${wanted.toLocaleString('en-US')} wait`;
      figures.push(...(await idle(sweeper, what)));
      for (const crossing of CROSSING) {
        await handOff(bench, gapless, orgs, crossing, nowMs - OVERDUE_MS);
        waiting += crossing;
        await sweeper.untilWaiting(waiting);
        const { totalMs, postgresMs, raised, statements } = await sweeper.measure();
        if (raised !== crossing) throw new Error(`${raised} of ${crossing} alerts were raised`);
        const [total, postgres] = [new Histogram(), new Histogram()];
        total.record(totalMs);
        postgres.record(postgresMs);
        figures.push(
          ...figuresOf(`${what}, ${crossing.toLocaleString('en-US')} cross`, total, postgres, statements.length),
        );
        if (crossing === CROSSING[0]) bench.print(`its statements: ${statements.join(' | ')}`);
      }
    }
    return figures;
  },
};
