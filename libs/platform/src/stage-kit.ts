import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import type { TopicNames } from '#libs/kafka-log';
import type { Config, Logger } from '#libs/runtime';
import { Metrics, type Tracing } from '#libs/telemetry';
import { CLOCK, CONFIG, LOGGER, TOPICS, TRACING } from './tokens.js';

/** The objects that all parts of a stage use. */
@Injectable()
export class StageKit {
  constructor(
    @Inject(CONFIG) readonly config: Config,
    @Inject(TOPICS) readonly topics: TopicNames,
    @Inject(CLOCK) readonly clock: Clock,
    @Inject(LOGGER) readonly logger: Logger,
    readonly metrics: Metrics,
    @Inject(TRACING) readonly tracing: Tracing,
  ) {}
}
