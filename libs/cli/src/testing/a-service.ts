import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TestRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type TestAnswer = {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

const ORG_ID = '0f8fad5b-d9cb-469f-a165-70867728950e';

/** What every page of the feed has. */
const BOUNDS = { 'x-oldest-sequence': '1', 'x-head-sequence': '3' };

/** An HTTP server that keeps its requests, except those for the organization of a key. */
export class TestServer {
  readonly requests: TestRequest[] = [];
  /** Says whose the key is. */
  organization = anOrganization(ORG_ID);
  /** Answers each request. */
  answer: (request: TestRequest) => TestAnswer = () => ({ status: 204 });
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      request.on('end', () => {
        const asked = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
        const isAboutKey = asked.url === '/api/v1/dashboard/organization';
        if (!isAboutKey) this.requests.push(asked);
        const { status, body: text, headers } = isAboutKey ? this.organization : this.answer(asked);
        response.writeHead(status, { 'content-type': 'application/json', ...BOUNDS, ...headers }).end(text);
      });
    });
  }

  static async start(): Promise<TestServer> {
    const server = new TestServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

export function anOrganization(orgId: string): TestAnswer {
  return { status: 200, body: JSON.stringify({ data: { org_id: orgId, name: null, widgets: [] } }) };
}

/** A page of the feed with these envelopes, in these very characters. */
export function aPage(envelopes: readonly string[]): TestAnswer {
  return { status: 200, body: `{"data":[${envelopes.join(',')}],"next_seq":null}` };
}

/** The JSON of an event. Parsing and printing it again would change its spelling. */
export function anEnvelope(seq: number, event = 'ticket.created'): string {
  const at = '2026-03-02T09:12:44.000Z';
  return (
    `{"id":"evt_${String(seq).padStart(26, '0')}","seq":${seq},"event":"${event}","occurred_at":"${at}",` +
    `"timestamp":"${at}","org_id":"${ORG_ID}","widget_id":null,"data":{"n": 1.0,"t":"]}\\"é"}}`
  );
}
