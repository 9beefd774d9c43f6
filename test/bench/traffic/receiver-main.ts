import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Inbox, type BatchedEvent, type Manner } from './inbox.js';
import { serveOperations } from './operations.js';

/** What a group of endpoints has received, one entry for each event and endpoint. */
export interface GroupReceipts {
  readonly eventIds: readonly string[];
  /** When each came whole for the first time, by `monotonicMs`. */
  readonly receivedAt: Float64Array;
}

/** How far a group is. */
export interface GroupProgress {
  /** Events that its endpoints have, each counted once for each endpoint. */
  readonly received: number;
  readonly repeats: number;
  /** Events of batches that came for the first time after a later one. */
  readonly inversions: number;
}

const inboxes = new Map<string, Inbox>();
const groups: Inbox[][] = [];

const server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
  const inbox = inboxes.get(request.url ?? '');
  const chunks: Buffer[] = [];
  if (request.headers['x-service-event'] === 'batch') request.on('data', (chunk: Buffer) => chunks.push(chunk));
  else request.resume();
  request.once('end', () => {
    if (inbox === undefined) response.writeHead(404).end();
    else if (chunks.length > 0) inbox.receiveBatch(() => eventsOf(chunks), response);
    else inbox.receive(String(request.headers['x-service-event-id']), response);
  });
});
const listening = new Promise<string>((resolve) =>
  server.listen(0, '127.0.0.1', () => {
    resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }),
);

function eventsOf(body: readonly Buffer[]): readonly BatchedEvent[] {
  return (JSON.parse(Buffer.concat(body).toString()) as { readonly events: readonly BatchedEvent[] }).events;
}

function groupOf(number: number): readonly Inbox[] {
  const group = groups[number];
  if (group === undefined) throw new Error(`there is no group ${number}`);
  return group;
}

const operations = {
  /** Opens a group of endpoints that answer in the manner. */
  async open({ endpoints, manner }: { readonly endpoints: number; readonly manner: Manner }) {
    const baseUrl = await listening;
    const opened: Inbox[] = [];
    const number = groups.push(opened) - 1;
    const urls = Array.from({ length: endpoints }, (_, index) => {
      const path = `/hooks/${number}/${index}`;
      const inbox = new Inbox(manner);
      opened.push(inbox);
      inboxes.set(path, inbox);
      return `${baseUrl}${path}`;
    });
    return { number, urls };
  },

  progress(number: number): GroupProgress {
    const group = groupOf(number);
    return {
      received: group.reduce((sum, { receivedAt }) => sum + receivedAt.size, 0),
      repeats: group.reduce((sum, { repeats }) => sum + repeats, 0),
      inversions: group.reduce((sum, { inversions }) => sum + inversions, 0),
    };
  },

  receipts(number: number): GroupReceipts {
    const group = groupOf(number);
    return {
      eventIds: group.flatMap(({ receivedAt }) => [...receivedAt.keys()]),
      receivedAt: Float64Array.from(group.flatMap(({ receivedAt }) => [...receivedAt.values()])),
    };
  },

  /** How long it took from each answer to a batch until the next one was there, milliseconds. */
  idleMs(number: number): Float64Array {
    return Float64Array.from(groupOf(number).flatMap(({ idleMs }) => idleMs));
  },

  /** Forgets what the group has received; its endpoints go on answering. */
  forget(number: number): void {
    for (const { receivedAt } of groupOf(number)) receivedAt.clear();
  },
};

export type ReceiverOperations = typeof operations;

serveOperations(operations);
