import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AgentSubscriber } from './agent-subscriber.js';
import type { CustomerEndpoint } from './customer.js';

/** The customers' HTTP server on loopback. */
export class CustomerServer {
  readonly endpoints: CustomerEndpoint[] = [];
  readonly agents: AgentSubscriber[] = [];
  #inFlight = 0;
  #mostInFlight = 0;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<CustomerServer> {
    const server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
      customers.#receive(request, response);
    });
    const customers = new CustomerServer(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return customers;
  }

  /** @returns the url at which the endpoint is pushed to */
  add(endpoint: CustomerEndpoint): string {
    return `${this.#url}/${this.endpoints.push(endpoint) - 1}`;
  }

  /** @returns the url of its callback */
  addAgent(agent: AgentSubscriber): string {
    return `${this.#url}/agents/${this.agents.push(agent) - 1}`;
  }

  get #url(): string {
    const { port } = this.server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** How many events came, to all endpoints together. */
  get arrived(): number {
    return this.endpoints.reduce((sum, endpoint) => sum + endpoint.arrivals.size, 0);
  }

  /** The most pushes that waited for their answer at the same time. */
  get mostInFlight(): number {
    return this.#mostInFlight;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.close(() => {
        resolve();
      });
      this.server.closeAllConnections();
    });
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A request that the death of its sender cuts off did not come.
    request.on('error', () => undefined);
    this.#mostInFlight = Math.max(this.#mostInFlight, ++this.#inFlight);
    response.on('close', () => this.#inFlight--);
    request.on('end', () => {
      const [, agent] = /^\/agents\/(\d+)$/.exec(request.url ?? '') ?? [];
      if (agent !== undefined) {
        const headers = request.headers as Readonly<Record<string, string>>;
        const [status, text] = this.agents[Number(agent)]?.receive(headers, Buffer.concat(chunks)) ?? [404, ''];
        response.writeHead(status).end(text);
        return;
      }
      const endpoint = this.endpoints[Number(request.url?.slice(1))];
      if (endpoint === undefined) {
        response.writeHead(404).end();
        return;
      }
      const { headers } = request;
      const status = endpoint.receive({
        attempt: Number(headers['x-service-attempt']),
        signature: String(headers['x-service-signature']),
        body: Buffer.concat(chunks),
      });
      setTimeout(() => response.writeHead(status).end(), endpoint.answersAfterMs);
    });
  }
}
