// The packages as their users see them. The test copies this as ESM and as CommonJS, compiles it strictly and runs it.
import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  ApiError,
  EVENT_TYPES,
  EventStream,
  FeedClient,
  MemoryCursor,
  MemoryDedup,
  readFeed,
  verifySignature,
  Webhook,
  type EventEnvelope,
  type GaplessEvent,
} from '@gapless/consumer';
import { expressWebhook } from '@gapless/consumer/express';
import { fastifyWebhook } from '@gapless/consumer/fastify';
import { fetchWebhook } from '@gapless/consumer/fetch';
import { GaplessWebhookModule } from '@gapless/consumer/nest';
import { createConsumerTables, PostgresCursor, PostgresDedup } from '@gapless/consumer/postgres';
import { HttpSink, Producer, type NewEvent } from '@gapless/producer';
import { KafkaSink } from '@gapless/producer/kafka';
import { emitInTransaction, GaplessOutbox1700000000000, OutboxRelay } from '@gapless/producer/outbox';
import express from 'express';
import { fastify } from 'fastify';
import { Kafka } from 'kafkajs';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';

const SECRET = 'whsec_c2VjcmV0';
const ORG = '0f8fad5b-d9cb-469f-a165-70867728950e';

/** A type that only `data` of this event has. */
function stageOf(event: EventEnvelope<'conversation.queued'>): 1 {
  return event.data.stage;
}

function subjectOf(event: GaplessEvent): string | undefined {
  switch (event.event) {
    case 'conversation.queued':
      return `${event.data.conversation.subject} ${stageOf(event)}`;
    case 'conversation.picked_up':
      return event.data.picked_up_by.name;
    default:
      return undefined;
  }
}

// @ts-expect-error a lead has an id
export const notALead: NewEvent = { event: 'lead.created', org_id: ORG, data: { email: null } };

/** Code that is only compiled here, since there are no servers. */
export async function withServers(): Promise<void> {
  const pool = new Pool();
  await createConsumerTables(pool);
  const stream = new EventStream({
    orgId: ORG,
    feed: new FeedClient({ baseUrl: 'https://gapless.example', apiKey: 'gk_1' }),
    cursor: new PostgresCursor(pool, 'alerts'),
    dedup: new PostgresDedup(pool, 'alerts'),
    handle: async (event, { transaction }) => {
      await transaction.query('insert into seen (id) values ($1)', [event.id]);
    },
    onError: console.error,
  });
  const webhook = new Webhook({ secret: [SECRET], handle: (event) => stream.push(event), onError: console.error });
  express().post('/hooks', expressWebhook(webhook));
  await fastify().register(fastifyWebhook, { webhook, path: '/hooks' });
  GaplessWebhookModule.forRootAsync({
    path: 'hooks',
    useFactory: () => ({ secret: SECRET, handle: (event) => stream.push(event), onError: console.error }),
  });
  const dataSource = new DataSource({ type: 'postgres', migrations: [GaplessOutbox1700000000000] });
  const sink = new KafkaSink({ kafka: new Kafka({ brokers: ['localhost:9092'] }) });
  await dataSource.transaction((manager) =>
    emitInTransaction(manager, { event: 'ticket.created', org_id: ORG, data: { id: 'tkt_1' } }),
  );
  const relay = new OutboxRelay({ dataSource, sink, onError: console.error, onRefused: console.error });
  await Promise.all([relay.run(AbortSignal.timeout(1)), stream.run(AbortSignal.timeout(1))]);
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Takes events, and shows them in its feed. */
function aGapless(): Server {
  const events: object[] = [];
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('Content-Type', 'application/json');
      if (request.method === 'GET') {
        response.setHeader('x-oldest-sequence', '1').setHeader('x-head-sequence', String(events.length));
        response.end(JSON.stringify({ data: events, next_seq: null }));
        return;
      }
      const submitted = JSON.parse(Buffer.concat(chunks).toString()) as { events: { id: string }[] };
      for (const event of submitted.events) events.push({ ...event, seq: events.length + 1 });
      response.writeHead(202).end(JSON.stringify({ data: submitted.events.map(({ id }) => ({ id })) }));
    });
  });
}

function signatureOf(body: string): string {
  const t = Math.floor(Date.now() / 1000);
  return `t=${t},v1=${createHmac('sha256', SECRET).update(`${t}.${body}`).digest('hex')}`;
}

async function main(): Promise<void> {
  const service = aGapless();
  const baseUrl = await listening(service);
  await new Producer(new HttpSink({ baseUrl, apiKey: 'gk_1' })).emit([
    { event: 'ticket.created', org_id: ORG, data: { id: 'tkt_1' } },
    { event: 'help_article.published', org_id: ORG, data: { id: 'art_1' } },
  ]);

  const read: string[] = [];
  const feed = new FeedClient({ baseUrl, apiKey: 'gk_1' });
  for await (const events of readFeed({ feed, cursor: new MemoryCursor(), follow: false })) {
    read.push(...events.map((event) => `${event.seq} ${event.event}`));
  }

  const handled: string[] = [];
  const dedup = new MemoryDedup();
  const webhook = new Webhook({
    secret: SECRET,
    handle: async (event) => {
      await dedup.once(event, () => Promise.resolve(void handled.push(subjectOf(event) ?? event.event)));
    },
    onError: console.error,
  });
  const customer = createServer((request, response) => {
    expressWebhook(webhook)(request, response, () => response.writeHead(500).end());
  });
  const url = await listening(customer);
  const body = JSON.stringify({
    id: 'evt_1',
    seq: 1,
    event: 'ticket.created',
    occurred_at: '2026',
    org_id: ORG,
    data: {},
  });
  const push = (signature: string) =>
    ({ method: 'POST', headers: { 'X-Service-Signature': signature }, body }) as const;
  const answers = [
    (await fetch(url, push(signatureOf(body)))).status,
    (await fetch(url, push(signatureOf(`${body} `)))).status,
    (await fetchWebhook(webhook)(new Request(url, push(signatureOf(body))))).status,
  ];
  await new Promise((resolve) => setTimeout(resolve, 50));
  await webhook.idle();

  service.close();
  customer.close();
  console.log(
    JSON.stringify({
      verdict: verifySignature({ body, header: signatureOf(body), secret: SECRET }).valid,
      types: EVENT_TYPES.length,
      read,
      answers,
      handled,
      isError: new ApiError('refused', 403, 'x', 'y') instanceof Error,
    }),
  );
  process.exit();
}

void main();
