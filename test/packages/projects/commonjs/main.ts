import { verifySignature, Webhook } from '@gapless/consumer';
import { expressWebhook } from '@gapless/consumer/express';
import { fastifyWebhook } from '@gapless/consumer/fastify';
import { fetchWebhook } from '@gapless/consumer/fetch';
import { PostgresCursor, PostgresDedup } from '@gapless/consumer/postgres';
import { HttpSink, Producer } from '@gapless/producer';
import { KafkaSink } from '@gapless/producer/kafka';
import { OutboxRelay } from '@gapless/producer/outbox';

const webhook = new Webhook({ secret: 'whsec_c2VjcmV0', handle: () => undefined, onError: console.error });
const made = [
  expressWebhook(webhook),
  fetchWebhook(webhook),
  fastifyWebhook,
  new Producer(new HttpSink({ baseUrl: 'http://127.0.0.1:1/api/v1', apiKey: 'gk_1' })),
  ...[PostgresCursor, PostgresDedup, KafkaSink, OutboxRelay],
];
const verdict = verifySignature({ body: '', header: '', secret: 'whsec_c2VjcmV0' });
console.log(JSON.stringify({ made: made.length, verdict: verdict.valid }));
