import { topicNames, type TopicNames } from '#libs/kafka-log';
import { StageKit } from '#libs/platform';
import { createLogger, type Config } from '#libs/runtime';
import { Metrics, NO_TRACING } from '#libs/telemetry';

interface KitParts {
  readonly nowMs: number;
  readonly config?: Partial<Config>;
  readonly topics?: TopicNames;
  readonly metrics?: Metrics;
}

/** What the parts of a stage have in common, with a clock that stands still and a log that says nothing. */
export function aStageKit({
  nowMs,
  config = {},
  topics = topicNames('gapless', []),
  metrics = new Metrics(),
}: KitParts): StageKit {
  const clock = { now: () => nowMs };
  return new StageKit(config as Config, topics, clock, createLogger('silent', 'test'), metrics, NO_TRACING);
}
