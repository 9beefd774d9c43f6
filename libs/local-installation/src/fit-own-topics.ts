import { alterTopics, isPassingKafkaError, KafkaConnection, topicNames, topicPlans } from '#libs/kafka-log';
import { createLogger, loadConfig, startStep, type Environment } from '#libs/runtime';

/**
 * Alters the topics of our own brokers to the settings of this version, because their users do not have Kafka's tools.
 * @param print called with a line for each altered setting
 */
export async function fitOwnTopics(
  environment: Environment,
  { print, signal }: { readonly print: (line: string) => void; readonly signal: AbortSignal },
): Promise<void> {
  const config = loadConfig(environment);
  const connection = new KafkaConnection({
    brokers: config.kafkaBrokers,
    clientId: 'gapless-topics',
    logger: createLogger('silent', 'topics'),
  });
  const plans = topicPlans(topicNames(config.topicPrefix, config.retrySchedule), config);
  const altered = await startStep(
    'the topics to be altered',
    () => connection.withAdmin((admin) => alterTopics(admin, plans)),
    { isPassing: isPassingKafkaError, onWait: print, signal },
  );
  for (const { topic, name, from, to } of altered) {
    print(`Kafka: altered ${topic} from ${name}=${from ?? 'nothing'} to ${to}, which this version needs`);
  }
}
