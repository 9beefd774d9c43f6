import { once } from 'node:events';
import { connect } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';

export interface Occurrence {
  readonly eventId: string;
  readonly data: unknown;
  readonly _meta: { readonly 'gapless/seq': number };
}

export interface Page {
  readonly events: readonly Occurrence[];
  readonly cursor: string;
  readonly truncated: boolean;
  readonly hasMore: boolean;
  readonly nextPollMs: number;
}

interface Descriptors {
  readonly events: readonly {
    readonly name: string;
    readonly delivery: readonly string[];
    readonly payloadSchema: object;
  }[];
}

export interface StreamMessage {
  readonly method: string;
  readonly cursor: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface AgentStream {
  /** Resolves with the next message; rejects once the stream has ended. */
  next(): Promise<StreamMessage>;
  close(): void;
}

const REVISION = '2026-07-28';
const LEGACY_REVISION = '2025-11-25';
const ANY = z.looseObject({});

/** An agent that uses the client of the official SDK. */
export class Agent {
  private constructor(
    private readonly client: Client,
    private readonly url: string,
    private readonly key: string,
    private readonly era: 'modern' | 'legacy',
  ) {}

  static async connect(baseUrl: string, key: string, era: 'modern' | 'legacy' = 'modern'): Promise<Agent> {
    const mode = era === 'modern' ? { pin: REVISION } : 'legacy';
    const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
    const headers = { authorization: `Bearer ${key}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), { requestInit: { headers } }));
    return new Agent(client, `${baseUrl}/mcp`, key, era);
  }

  get capabilities(): object | undefined {
    return this.client.getServerCapabilities();
  }

  async list(): Promise<Descriptors> {
    return (await this.client.request({ method: 'events/list' }, ANY)) as unknown as Descriptors;
  }

  async poll(params: Readonly<Record<string, unknown>>): Promise<Page> {
    return (await this.client.request({ method: 'events/poll', params }, ANY)) as unknown as Page;
  }

  async tools(): Promise<readonly string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name);
  }

  /** Returns what the tool answers as a text. */
  async answer(name: string, args: Record<string, unknown>) {
    const { content, isError, _meta: meta } = await this.client.callTool({ name, arguments: args });
    const [first] = content as readonly { readonly text: string }[];
    return { text: first?.text ?? '', isError: isError === true, meta };
  }

  async call(name: string, args: Record<string, unknown>): Promise<unknown> {
    const { text, isError } = await this.answer(name, args);
    if (isError) throw new Error(text);
    return JSON.parse(/<untrusted-[^>]+>\n([^]*)\n<\/untrusted-/.exec(text)?.[1] ?? text);
  }

  async failure(name: string, args: Record<string, unknown>): Promise<string> {
    const { text, isError } = await this.answer(name, args);
    if (!isError) throw new Error(`it did not fail: ${text}`);
    return text;
  }

  /** Sends a request without the SDK. */
  response(
    method: string,
    params: object,
    headers: Record<string, string> = {},
    verb = 'POST',
    signal: AbortSignal | null = null,
  ): Promise<Response> {
    const { headers: own, body } = this.#request(method, params);
    const sent = { ...own, ...headers };
    if (verb !== 'POST') return fetch(this.url, { method: verb, headers: sent });
    return fetch(this.url, { method: verb, headers: { 'content-type': 'application/json', ...sent }, body, signal });
  }

  /** Opens a connection that asks, and reads no answer. */
  async silent(method: string, params: object): Promise<{ ask(): void; close(): void }> {
    const { hostname, port, pathname } = new URL(this.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.pause();
    const { headers, body } = this.#request(method, params);
    const fields = { host: hostname, 'content-type': 'application/json', 'content-length': body.length, ...headers };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    return {
      ask() {
        socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
      },
      close() {
        socket.destroy();
      },
    };
  }

  async raw(method: string, params: object): Promise<string> {
    return (await this.response(method, params)).text();
  }

  async refusal(method: string, params: object): Promise<{ readonly error?: unknown }> {
    return JSON.parse(await this.raw(method, params)) as { readonly error?: unknown };
  }

  /** Opens a stream with the SDK. */
  stream(params: Readonly<Record<string, unknown>>): AgentStream {
    const messages: StreamMessage[] = [];
    const waiting: (() => void)[] = [];
    const closing = new AbortController();
    let failure: Error | undefined;
    const wake = () => {
      for (const woken of waiting.splice(0)) woken();
    };
    const opened = this.#openStream(params, closing.signal, (message) => {
      messages.push(message);
      wake();
    });
    opened.catch((error: unknown) => {
      failure = error as Error;
      wake();
    });
    return {
      async next() {
        for (;;) {
          const message = messages.shift();
          if (message !== undefined) return message;
          if (failure !== undefined) throw failure;
          await new Promise<void>((resolve) => waiting.push(resolve));
        }
      },
      close() {
        closing.abort();
      },
    };
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  #request(method: string, params: object): { readonly headers: Record<string, string>; readonly body: string } {
    const headers = { accept: 'application/json, text/event-stream', authorization: `Bearer ${this.key}` };
    const message = { jsonrpc: '2.0', id: 7, method };
    if (this.era === 'legacy') {
      return {
        headers: { ...headers, 'mcp-protocol-version': LEGACY_REVISION },
        body: JSON.stringify({ ...message, params }),
      };
    }
    const meta = {
      'io.modelcontextprotocol/protocolVersion': REVISION,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    return {
      headers: { ...headers, 'mcp-protocol-version': REVISION, 'mcp-method': method },
      body: JSON.stringify({ ...message, params: { ...params, _meta: meta } }),
    };
  }

  async #openStream(
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    take: (message: StreamMessage) => void,
  ): Promise<never> {
    // A client of its own, whose only messages are those of the stream.
    const headers = { authorization: `Bearer ${this.key}` };
    const own = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: { pin: REVISION } } });
    own.fallbackNotificationHandler = ({ method, params: given = {} }) => {
      take({ method, params: given, cursor: String(given['cursor']) });
      return Promise.resolve();
    };
    await own.connect(new StreamableHTTPClientTransport(new URL(this.url), { requestInit: { headers } }));
    try {
      await own.request({ method: 'events/stream', params }, ANY, { signal, timeout: 2_147_483_647 });
    } finally {
      await own.close();
    }
    throw new Error('the stream has ended');
  }
}
