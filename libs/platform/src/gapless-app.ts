import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { OperatorError, type Clock } from '#libs/domain';
import { ConsumerSessions, KafkaBatchServer, KafkaConnection, PositionSources, type TopicNames } from '#libs/kafka-log';
import {
  createLogger,
  HealthBoard,
  loadConfig,
  stopSignal,
  untilAborted,
  type Config,
  type Environment,
  type Logger,
} from '#libs/runtime';
import { startTracing, type Tracing } from '#libs/telemetry';
import { giveBackMemory } from './give-back-memory.js';
import { listen } from './listen.js';
import { NestLog } from './nest-log.js';
import { PlatformModule } from './platform.module.js';
import { Platform } from './platform.js';
import { CLOCK, TOPICS } from './tokens.js';

/** The options of a process that runs one or more stages. */
export interface GaplessAppOptions {
  /** The process' name in logs, and the name of its connections. */
  readonly name: string;
  readonly modules: readonly Type[];
  readonly defaultPort: number;
  /** Whether to use another free port if its own is taken (default: the start fails). */
  readonly mayMove?: boolean;
  /** The health board for its parts; its own by default. */
  readonly health?: HealthBoard;
  /** Where to send spans; by default as the settings say. */
  readonly tracing?: Tracing;
  /** Prepares the Fastify instance before Nest sets it up. */
  readonly http?: {
    readonly adapter: () => FastifyAdapter;
    readonly configure: (app: NestFastifyApplication) => Promise<void> | void;
  };
}

/** A running process; `url` is its HTTP address. */
export interface GaplessApp {
  readonly app: NestFastifyApplication;
  readonly url: string;
  readonly config: Config;
  /** Finishes running work and releases all resources; you can call it repeatedly. */
  stop(): Promise<void>;
}

/**
 * Starts the process' HTTP side, waits for Kafka and Postgres, then starts its Kafka handlers.
 * @throws ConfigError, TopicMismatchError, InstallationMismatchError, or the signal's reason
 */
export async function startGaplessApp(
  options: GaplessAppOptions,
  environment: Environment,
  signal: AbortSignal,
): Promise<GaplessApp> {
  const config = loadConfig({ ...environment, PORT: environment['PORT']?.trim() || String(options.defaultPort) });
  const logger = createLogger(config.logLevel, options.name);
  const tracing = options.tracing ?? (await tracingOf(options.name, config, logger));
  const health = options.health ?? new HealthBoard();
  const parts = {
    name: options.name,
    config,
    logger,
    health,
    tracing,
    servesRequests: options.http !== undefined,
    stages: options.modules,
  };
  const root = PlatformModule.forProcess(parts);
  const app = await NestFactory.create<NestFastifyApplication>(root, options.http?.adapter() ?? new FastifyAdapter(), {
    logger: new NestLog(logger),
    abortOnError: false,
  });
  let stopped: Promise<void> | null = null;
  const stop = () => {
    // Load balancers see the readiness change before anything closes.
    health.ending();
    return (stopped ??= app.close());
  };
  try {
    await options.http?.configure(app);
    app.connectMicroservice(
      {
        strategy: new KafkaBatchServer({
          connection: app.get(KafkaConnection),
          topics: app.get<TopicNames>(TOPICS),
          prefix: config.topicPrefix,
          logger,
          health,
          sessions: app.get(ConsumerSessions),
          positions: app.get(PositionSources),
          clock: app.get<Clock>(CLOCK),
        }),
      },
      { inheritAppConfig: false },
    );
    await listen(app, { host: config.host, port: config.port, mayMove: options.mayMove ?? false });
    await app.get(Platform).join(signal);
    await abortable(app.startAllMicroservices(), signal);
    logger.info({ url: await app.getUrl() }, 'app.ready');
    return { app, url: await app.getUrl(), config, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function tracingOf(name: string, config: Config, logger: Logger): Promise<Tracing> {
  return startTracing({
    endpoint: config.otlpEndpoint,
    serviceName: `gapless-${name}`,
    onFailure: (reason) => {
      logger.warn({ reason }, 'tracing.failed');
    },
  });
}

async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([
    work,
    untilAborted(signal).then((): never => {
      throw signal.reason;
    }),
  ]);
}

/** Runs a process until SIGINT, SIGTERM or SIGHUP, then stops it in order. */
export async function runGaplessApp(options: GaplessAppOptions): Promise<void> {
  const signal = stopSignal();
  try {
    const running = await startGaplessApp(options, process.env, signal);
    await giveBackMemory();
    await untilAborted(signal);
    await running.stop();
  } catch (error) {
    if (!signal.aborted) reportFailure(error, createLogger('info', options.name));
  }
  process.exit();
}

/** Logs an OperatorError by its message, any other error with its stack. */
function reportFailure(error: unknown, logger: Logger): void {
  process.exitCode = 1;
  if (error instanceof OperatorError) process.stderr.write(`gapless: ${error.message}\n`);
  else logger.fatal({ err: error }, 'app.failed');
}
