import { Inject, Injectable } from '@nestjs/common';
import { messageOf } from '#libs/domain';
import {
  inspectTopics,
  InstallationTopic,
  KafkaConnection,
  KeptAdmin,
  topicPlans,
  type TopicNames,
} from '#libs/kafka-log';
import { HealthBoard, type Config, type Logger } from '#libs/runtime';
import { RegularWork } from './regular-work.js';
import { CONFIG, LOGGER, TOPICS } from './tokens.js';

const LOOK_EVERY_MS = 10_000;

/**
 * Reports while the process runs that the brokers are away, that topics were altered so that they break a promise, and how
 * many have too few replicas.
 * The process stays ready: requests that need no Kafka work, and what a retention or a compaction takes away is there
 * until it runs.
 */
@Injectable()
export class KafkaWatch extends RegularWork {
  readonly #admin: KeptAdmin;
  #away: string | null = null;
  #mismatches = '';

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(TOPICS) private readonly topics: TopicNames,
    private readonly connection: KafkaConnection,
    private readonly health: HealthBoard,
  ) {
    super({ everyMs: LOOK_EVERY_MS, firstAfterMs: LOOK_EVERY_MS });
    this.#admin = new KeptAdmin(connection);
    connection.metrics.set('gapless_topics_misfit', {}, 0);
  }

  override async beforeApplicationShutdown(): Promise<void> {
    await super.beforeApplicationShutdown();
    await this.#admin.close();
  }

  protected async act(): Promise<undefined> {
    // `Platform` reports what it waits for until then.
    if (this.health.parts()['kafka']?.status === 'waiting') return;
    const plans = topicPlans(this.topics, this.config);
    const accepted = async () =>
      (await new InstallationTopic(this.connection, this.topics.installation).readAll()).accepted;
    const { mismatches, risks } = await this.#admin.withAdmin((admin) => inspectTopics(admin, plans, accepted));
    this.connection.metrics.set('gapless_topics_at_risk', {}, risks.length);
    this.#report(mismatches);
    if (this.#away === null) return;
    this.#away = null;
    this.health.ready('kafka');
    this.logger.info({}, 'kafka.back');
  }

  protected failed(error: unknown): void {
    const reason = messageOf(error);
    this.health.degraded('kafka', reason);
    if (this.#away !== reason) this.logger.warn({ reason }, 'kafka.away');
    this.#away = reason;
  }

  #report(mismatches: readonly string[]): void {
    this.connection.metrics.set('gapless_topics_misfit', {}, mismatches.length);
    const text = mismatches.join('; ');
    if (text === this.#mismatches) return;
    this.#mismatches = text;
    if (mismatches.length === 0) {
      this.health.forget('topics');
      this.logger.info({}, 'topics.fit_again');
    } else {
      this.health.degraded('topics', text);
      this.logger.error({ mismatches }, 'topics.do_not_fit');
    }
  }
}
