import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Kafka } from 'kafkajs';
import { FoldedInbox } from '../../../apps/alerting/src/folded-inbox.js';
import { FoldQueueHandler } from '../../../apps/alerting/src/fold-queue.handler.js';
import { SweepRegularly } from '../../../apps/alerting/src/sweep-regularly.js';
import { CheckedIds } from '../../../apps/api/src/events/ids/checked-ids.js';
import { IngestLag } from '../../../apps/api/src/events/ids/ingest-lag.js';
import { IngestEventsController } from '../../../apps/api/src/events/ingest/ingest-events.controller.js';
import type { SeededSecrets } from '../../../apps/api/src/idempotency/seeded-secrets.js';
import { IngestPace } from '../../../apps/api/src/rate-limits/ingest-pace.js';
import { CreateWebhookController } from '../../../apps/api/src/webhooks/create-webhook.controller.js';
import type { EndpointUrlCheck } from '../../../apps/api/src/webhooks/endpoint-url-check.js';
import { LogMoments } from '../../../apps/api/src/webhooks/log-moments.js';
import { UpdateWebhookController } from '../../../apps/api/src/webhooks/update-webhook.controller.js';
import type { CreateWebhookDto } from '../../../apps/api/src/webhooks/webhook.dto.js';
import { DispatchAttemptsHandler } from '../../../apps/dispatcher/src/attempts/dispatch-attempts.handler.js';
import { Dispatcher } from '../../../apps/dispatcher/src/dispatcher.js';
import { ForwardRetriesHandler } from '../../../apps/dispatcher/src/attempts/forward-retries.handler.js';
import { ReconcilePending } from '../../../apps/dispatcher/src/reconciling/reconcile-pending.js';
import { ProjectDeliveriesHandler } from '../../../apps/projector/src/project-deliveries.handler.js';
import { ProjectFeedHandler } from '../../../apps/projector/src/project-feed.handler.js';
import type { TailCheck } from '../../../apps/projector/src/tail-check.js';
import { RouteLogHandler } from '../../../apps/dispatcher/src/routing/route-log.handler.js';
import { RoutedPlaces } from '../../../apps/dispatcher/src/routing/routed-places.js';
import { RouterPositions } from '../../../apps/dispatcher/src/routing/router-positions.js';
import { SequenceInboxHandler } from '../../../apps/sequencer/src/sequence-inbox.handler.js';
import { StageKit } from '#libs/platform';
import {
  systemClock,
  type ApiKeyId,
  type Destination,
  type EndpointId,
  type EventId,
  type Ordering,
  type OrgId,
} from '#libs/domain';
import {
  AlertClaims,
  AlertOutbox,
  ChatQueueProjection,
  EndpointDirectory,
  EndpointRecords,
  FeedReader,
  OrderedDeliveries,
  OverdueDeliveries,
  PacedEndpoints,
  PacedOwners,
  PreviousSeqs,
  RouterPlaces,
  type SecretCipher,
  type SigningKeys,
  type Store,
} from '#libs/postgres';
import {
  Appenders,
  KafkaBatchServer,
  KafkaConnection,
  LogPositions,
  PositionSources,
  topicNames,
  type BatchContext,
  type RecordBatch,
  type TopicNames,
} from '#libs/kafka-log';
import { type Metrics, NO_TRACING } from '#libs/telemetry';
import { CelFilters } from '#libs/event-filter';
import { HealthBoard, untilItWorks, type Config, type Identifiers, type Logger } from '#libs/runtime';
import { connectionLost, type Postgres } from '../postgres/postgres.js';
import { simulatedStore } from '../postgres/simulated-store.js';
import type { Network } from '../engine/network.js';
import type { Trace } from '../engine/trace.js';
import { Actor, type VirtualTime } from '../engine/virtual-time.js';
import { TimedSessions } from './timed-sessions.js';
import { RecordedMetrics } from './recorded-metrics.js';
import { recordedLogger, type LogLine } from './recorded-logger.js';

/** Few enough deliveries in a batch that some organizations are routed after the others. */
const LARGE_FROM = 5;

/** How long a client waits for the answer of the api. */
const HTTP_TIMEOUT_MS = 10_000;

export type StageName = 'api' | 'sequencer' | 'dispatcher' | 'projector' | 'alerting';

interface ProcessDependencies {
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly network: Network;
  readonly kafka: Kafka;
  /** How often a connection to a broker broke. */
  readonly interruptions: () => number;
  readonly postgres: Postgres;
  readonly config: Config;
  readonly onLog: (line: LogLine) => void;
  readonly newEventId: () => EventId;
  readonly newEndpointId: () => EndpointId;
  /** The way to the customers, of one process. */
  readonly destination: (process: SimulatedProcess) => Destination;
}

/** What answers HTTP. */
interface Api {
  readonly ingest: IngestEventsController;
  readonly create: CreateWebhookController;
  readonly update: UpdateWebhookController;
}

const ACTOR = {
  kind: 'api_key',
  keyId: 'gk_simulated' as ApiKeyId,
  session: null,
  address: '127.0.0.1',
  requestId: 'simulated',
} as const;
const NO_BYTES = Buffer.alloc(0);

interface Hooks {
  onApplicationBootstrap?: () => void;
  beforeApplicationShutdown?: () => Promise<void> | void;
  onApplicationShutdown?: () => Promise<void> | void;
}

interface BatchHandler {
  readonly name: string;
  readonly extras: Record<string, unknown>;
  readonly handle: (batch: RecordBatch, context: BatchContext) => Promise<unknown>;
}

/** The methods of a controller that are marked with `@KafkaBatches`. */
function batchHandlersOf(controller: object): readonly BatchHandler[] {
  const prototype = Object.getPrototypeOf(controller) as Record<string, BatchHandler['handle']>;
  return Object.getOwnPropertyNames(prototype).flatMap((name) => {
    const method = prototype[name];
    if (typeof method !== 'function') return [];
    const extras = Reflect.getMetadata('microservices:pattern_extras', method) as Record<string, unknown> | undefined;
    return extras === undefined ? [] : [{ name, extras, handle: method.bind(controller) }];
  });
}

/** A process of Gapless with some of its stages, put together as Nest does it, from its start to its end. */
export class SimulatedProcess {
  readonly actor: Actor;
  readonly health = new HealthBoard();
  readonly sessions: TimedSessions;
  readonly topics: TopicNames;
  #parts: Hooks[] = [];
  #server: KafkaBatchServer | null = null;
  #api: Api | null = null;
  isRunning = false;

  constructor(
    private readonly nth: number,
    readonly stages: readonly StageName[],
    private readonly use: ProcessDependencies,
  ) {
    const name = stages.length > 1 ? 'all' : stages[0];
    this.actor = new Actor(`${name ?? 'none'}-${nth}`);
    this.sessions = new TimedSessions(() => use.time.nowMs);
    this.topics = topicNames(use.config.topicPrefix, use.config.retrySchedule);
  }

  start(): void {
    this.isRunning = true;
    this.use.time.schedule(0, this.actor, () => {
      this.use.trace.note(`starts ${this.stages.join(', ')}`);
      this.#start().catch((error: unknown) => {
        this.use.onLog({ level: 'fatal', message: 'start failed', fields: { err: error }, process: this.actor.name });
      });
    });
  }

  /** Ends as by `kill -9`. */
  crash(): void {
    this.isRunning = false;
    this.use.trace.note('crashes', this.actor.name);
    this.use.time.kill(this.actor);
    this.use.postgres.forget(this.actor);
    this.use.network.break(this.actor, connectionLost);
  }

  /** Ends as by SIGTERM. */
  stop(): void {
    if (!this.isRunning) return;
    this.isRunning = false;
    this.use.time.schedule(0, this.actor, () => {
      this.use.trace.note('stops');
      void this.#stop().then(() => {
        this.use.trace.note('has stopped');
        this.use.time.kill(this.actor);
        this.use.postgres.forget(this.actor);
        this.use.network.break(this.actor, connectionLost);
      });
    });
  }

  /** Submits events, as a client does over HTTP. @throws what the api refuses with, or when it does not answer */
  post(body: Buffer): Promise<unknown> {
    return this.#ask('http events', ({ ingest }) => {
      const apiKey = { id: 'gk_simulated' as ApiKeyId, orgId: null, scopes: ['events:write'], expiresAt: null };
      const request = { body, apiKey, headers: {} } as unknown as FastifyRequest;
      return ingest.ingest(request, {} as FastifyReply);
    });
  }

  /** Registers an endpoint, as an operator does over HTTP. */
  createEndpoint(orgId: OrgId, body: CreateWebhookDto): Promise<EndpointId> {
    return this.#ask('http create', async ({ create }) => (await create.create(orgId, body, ACTOR, null)).data.id);
  }

  /** Disables or enables an endpoint, as an operator does over HTTP. */
  async switchEndpoint(orgId: OrgId, id: EndpointId, isActive: boolean): Promise<void> {
    await this.#ask('http switch', ({ update }) => update.update(orgId, id, { is_active: isActive }, ACTOR));
  }

  /** Changes the order of an endpoint. */
  async orderEndpoint(orgId: OrgId, id: EndpointId, ordering: Ordering): Promise<void> {
    await this.#ask('http order', ({ update }) => update.update(orgId, id, { ordering }, ACTOR));
  }

  #ask<T>(name: string, act: (api: Api) => Promise<T>): Promise<T> {
    const options = { timeoutMs: HTTP_TIMEOUT_MS, broken: connectionLost };
    return this.use.network.request<T>(this.actor, name, options, (answer) => {
      if (this.#api === null || !this.actor.isAlive) answer.reject(connectionLost());
      else act(this.#api).then(answer.resolve, answer.reject);
    });
  }

  async #start(): Promise<void> {
    const { config, kafka, postgres, trace } = this.use;
    const metrics: Metrics = new RecordedMetrics().asMetrics;
    const logger: Logger = recordedLogger(this.actor.name, trace, this.use.onLog);
    const store = simulatedStore(postgres);
    const connection = new KafkaConnection({
      brokers: [],
      clientId: this.actor.name,
      logger,
      metrics,
      kafka,
      interruptions: this.use.interruptions,
      partitions: config.partitions,
    });
    const appenders = new Appenders(connection);
    this.#parts = [];
    const positions = new PositionSources();
    const controllers = this.#assemble({ connection, appenders, store, positions, metrics, logger });
    this.#server = new KafkaBatchServer({
      connection,
      topics: this.topics,
      // kafkajs is changed for its whole thread: only by its name does a group know what is said of this process.
      prefix: `${config.topicPrefix}~${this.nth}`,
      logger,
      health: this.health,
      sessions: this.sessions,
      positions,
      clock: systemClock,
    });
    for (const handler of controllers.flatMap(batchHandlersOf)) {
      this.#server.addHandler(JSON.stringify(handler.extras), handler.handle, true, handler.extras);
    }
    await connection.waitUntilReachable(() => undefined);
    await untilItWorks(() => appenders.connect(), { onFailure: () => undefined });
    for (const part of this.#parts) part.onApplicationBootstrap?.();
    await new Promise<void>((resolve, reject) => {
      this.#server?.listen((error) => {
        if (error === undefined) resolve();
        else reject(error instanceof Error ? error : new Error('the consumers did not start'));
      });
    });
    this.#parts.push({ onApplicationShutdown: () => appenders.close() });
  }

  async #stop(): Promise<void> {
    this.health.ending();
    this.#api = null;
    await Promise.all(this.#parts.map(async (part) => part.beforeApplicationShutdown?.()));
    await this.#server?.close();
    await Promise.all(this.#parts.map(async (part) => part.onApplicationShutdown?.()));
  }

  /** @returns the controllers of the stages */
  #assemble(shared: {
    readonly connection: KafkaConnection;
    readonly appenders: Appenders;
    readonly store: Store;
    readonly positions: PositionSources;
    readonly metrics: Metrics;
    readonly logger: Logger;
  }): readonly object[] {
    const { connection, appenders, store, positions, metrics, logger } = shared;
    const { config, newEventId, newEndpointId } = this.use;
    const { sessions, topics } = this;
    const cipher = { decrypt: () => 'whsec_simulated', encrypt: () => NO_BYTES } as unknown as SecretCipher;
    const clock = systemClock;
    const kit = new StageKit(config, topics, clock, logger, metrics, NO_TRACING);
    const controllers: object[] = [];
    const part = <T extends object>(made: T): T => {
      this.#parts.push(made);
      return made;
    };
    for (const stage of this.stages) {
      const appender = appenders.open();
      switch (stage) {
        case 'api': {
          const lag = part(new IngestLag(connection, store, topics, config, clock, logger));
          const ingest = new IngestEventsController(
            new CheckedIds(new FeedReader(store, config.retentionMs), lag, topics, config),
            appender,
            { eventId: newEventId } as unknown as Identifiers,
            { count: () => Promise.resolve() } as never,
            new IngestPace(config),
            { once: (_request: unknown, _reply: unknown, act: (seed: null) => unknown) => act(null) } as never,
            {
              trace: (_name: string, _request: unknown, act: (parent: string) => unknown) => act(TRACEPARENT),
            } as never,
            topics,
            clock,
          );
          const endpoints = new EndpointRecords(store, cipher);
          const urls = { checkAll: () => Promise.resolve() } as unknown as EndpointUrlCheck;
          const log = new LogMoments(connection, topics, config);
          const identifiers = { endpointId: newEndpointId } as unknown as Identifiers;
          const signingKeys = { ensure: () => Promise.resolve() } as unknown as SigningKeys;
          const secrets = { bytes: () => NO_BYTES } as unknown as SeededSecrets;
          this.#api = {
            ingest,
            create: new CreateWebhookController(endpoints, urls, log, identifiers, signingKeys, secrets, config, clock),
            update: new UpdateWebhookController(endpoints, urls, log, signingKeys, appender, topics, clock),
          };
          break;
        }
        case 'sequencer':
          controllers.push(part(new SequenceInboxHandler(connection, appender, store, sessions, kit)));
          break;
        case 'dispatcher': {
          const directory = new EndpointDirectory(store, cipher);
          const positions = new LogPositions(connection);
          const overdue = new OverdueDeliveries(store);
          const routed = new RouterPlaces(store);
          const places = part(new RoutedPlaces(routed, topics, logger));
          part(new RouterPositions(routed, connection, shared.positions, config, logger));
          const dispatcher = part(
            new Dispatcher(
              directory,
              appenders,
              appender,
              places,
              sessions,
              new PacedEndpoints(store),
              new PacedOwners(store),
              overdue,
              new OrderedDeliveries(store),
              positions,
              kit,
              this.use.destination(this),
            ),
          );
          controllers.push(
            new RouteLogHandler(
              directory,
              dispatcher,
              places,
              positions,
              new PreviousSeqs(store),
              kit,
              new CelFilters(),
              LARGE_FROM,
            ),
          );
          controllers.push(new DispatchAttemptsHandler(dispatcher));
          controllers.push(new ForwardRetriesHandler(appender, kit));
          part(new ReconcilePending(overdue, connection, appender, sessions, kit));
          break;
        }
        case 'projector': {
          const tail = { add: () => undefined, mismatches: 0 } as unknown as TailCheck;
          controllers.push(new ProjectFeedHandler(store, positions, tail, appender, kit));
          controllers.push(new ProjectDeliveriesHandler(store, positions, connection, appender, kit));
          break;
        }
        case 'alerting': {
          const queues = new ChatQueueProjection(store);
          const claims = new AlertClaims(store);
          const outbox = new AlertOutbox(store);
          const folded = new FoldedInbox();
          controllers.push(new FoldQueueHandler(store, queues, folded, positions, metrics, clock, logger));
          part(new SweepRegularly(queues, claims, outbox, connection, appender, folded, sessions, kit, this.health));
          break;
        }
      }
    }
    return controllers;
  }
}

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
