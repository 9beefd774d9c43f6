import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  experimental_createMCPEventWebhook as createWebhook,
  type Experimental_MCPEvent as Event,
  type Experimental_MCPEventStore as EventStore,
  type Experimental_MCPEventSubscription as Subscription,
} from '@ai-sdk/mcp';

/** Stores the subscriptions of an agent in memory. */
export function aStoreOfSubscriptions(): EventStore & { readonly all: ReadonlyMap<string, Subscription> } {
  const all = new Map<string, Subscription>();
  return {
    all,
    get: (key) => Promise.resolve(all.get(key)),
    getById: (id) => Promise.resolve([...all.values()].find((one) => one.id === id)),
    set: (one) => {
      all.set(one.key, one);
      return Promise.resolve();
    },
    update: (key, patch) => {
      const one = all.get(key);
      if (one !== undefined) all.set(key, { ...one, ...patch });
      return Promise.resolve();
    },
    delete: (key) => {
      all.delete(key);
      return Promise.resolve();
    },
  };
}

export interface SdkCallback {
  readonly url: string;
  readonly events: readonly Event[];
  /** The codes of `terminated`. */
  readonly terminations: readonly number[];
  /** The statuses that the library answered with. */
  readonly statuses: readonly number[];
  close(): Promise<void>;
}

/** A callback on loopback that the AI SDK serves: it verifies signatures, answers challenges and keeps cursors. */
export async function anSdkCallback(store: EventStore): Promise<SdkCallback> {
  const events: Event[] = [];
  const terminations: number[] = [];
  const statuses: number[] = [];
  const handle = createWebhook({
    store,
    onEvent: ({ event }) => {
      events.push(event);
      return Promise.resolve();
    },
    onTerminated: ({ termination }) => {
      terminations.push(termination.error.code);
      return Promise.resolve();
    },
  });
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]);
      const url = new URL(request.url ?? '/', 'http://127.0.0.1');
      void handle(new Request(url, { method: 'POST', headers, body: Buffer.concat(chunks) })).then(async (answer) => {
        statuses.push(answer.status);
        response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    events,
    terminations,
    statuses,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
