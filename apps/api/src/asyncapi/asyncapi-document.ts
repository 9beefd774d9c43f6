import type { JsonObject } from '#libs/domain';
import { CHANNELS, OPERATIONS } from './channels.js';
import { MESSAGES, MESSAGE_SCHEMAS } from './messages.js';

const DESCRIPTION = `
The Kafka topics that are open to others: the **log** with every event of every organization in order, the
**inbox** for services that submit events without HTTP, what became of submissions that could not be read, and the alerts for
staff. How to read the log, and what it promises, is in \`docs/tap-kafka.md\`.
`.trim();

/** The AsyncAPI 3.0 description of the topics. */
const ASYNCAPI_DOCUMENT: JsonObject = {
  asyncapi: '3.0.0',
  info: { title: 'Gapless topics', version: '1.0.0', license: { name: 'MIT' }, description: DESCRIPTION },
  defaultContentType: 'application/json',
  servers: {
    kafka: {
      host: '{brokers}',
      protocol: 'kafka',
      description: 'The brokers that Gapless works with.',
      variables: { brokers: { default: 'localhost:9092', description: 'The value of KAFKA_BROKERS.' } },
    },
  },
  channels: CHANNELS,
  operations: OPERATIONS,
  components: {
    parameters: {
      prefix: { default: 'gapless', description: 'The value of TOPIC_PREFIX.' },
    },
    messages: MESSAGES,
    schemas: MESSAGE_SCHEMAS,
  },
};

/** The document as it is served and kept in `docs/asyncapi.json`. */
export const ASYNCAPI_JSON = `${JSON.stringify(ASYNCAPI_DOCUMENT, null, 2)}\n`;
