import { Readable } from 'node:stream';
import { Controller, Delete, Get, HttpCode, Post, Req, Res, StreamableFile } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OrgId } from '#libs/domain';
import '../audit/actor.decorator.js';
import { keyOf, OrgOfKey } from '../auth/authenticated-key.js';
import { RequestAuthenticator } from '../auth/request-authenticator.js';
import { AnyKey } from '../auth/require-scope.js';
import { untilClosed } from '../events/until-closed.js';
import { withPatience } from '../events/with-patience.js';
import type { AgentServer } from './agent-server.js';
import { Exchange } from './exchange.js';

/** A stream is closed if its client reads nothing for this long. The client resumes with its cursor. */
const STREAM_PATIENCE_MS = 30_000;
const PIECE_BYTES = 16 * 1024;
/** The code of JSON-RPC. */
const INVALID_REQUEST = -32_600;
const OPEN_BRACKET = 0x5b;
/** White space, and the bytes of a byte order mark, which the SDK skips. */
const BEFORE_JSON: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/** `POST /mcp`: the Model Context Protocol for agents, with its Events extension. Nothing is kept between requests. */
@Controller('mcp')
export class McpController {
  #server: Promise<AgentServer> | undefined;

  constructor(
    private readonly authenticator: RequestAuthenticator,
    private readonly modules: LazyModuleLoader,
  ) {}

  @Post()
  @HttpCode(200)
  @AnyKey()
  post(@OrgOfKey() orgId: OrgId, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.#answer(orgId, request, reply);
  }

  /** Answers 405: there is no stream without a request. Clients of earlier revisions ask for one. */
  @Get()
  @AnyKey()
  get(@OrgOfKey() orgId: OrgId, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.#answer(orgId, request, reply);
  }

  /** Answers 405: there are no sessions to end. */
  @Delete()
  @AnyKey()
  delete(@OrgOfKey() orgId: OrgId, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.#answer(orgId, request, reply);
  }

  async #answer(orgId: OrgId, request: FastifyRequest, reply: FastifyReply): Promise<string | StreamableFile> {
    const key = keyOf(request);
    const isInForce = () => this.authenticator.isInForce(request);
    const exchange = new Exchange(orgId, key, request.actor, isInForce, untilClosed(reply));
    let isStream = false;
    try {
      const answer = await this.#respond(exchange, request, reply);
      isStream = answer instanceof StreamableFile;
      return answer;
    } finally {
      // A stream ends the exchange with its last message.
      if (!isStream) exchange.end();
    }
  }

  /** Loads the SDK with the first request. It takes 8 MB of memory, and most installations have no agents. */
  #loaded(): Promise<AgentServer> {
    this.#server ??= this.#load().catch((error: unknown) => {
      this.#server = undefined;
      throw error;
    });
    return this.#server;
  }

  async #load(): Promise<AgentServer> {
    const { AgentServer, AgentServerModule } = await import('./agent-server.module.js');
    const module = await this.modules.load(() => AgentServerModule);
    return module.get(AgentServer);
  }

  async #respond(exchange: Exchange, request: FastifyRequest, reply: FastifyReply): Promise<string | StreamableFile> {
    const server = await this.#loaded();
    const asked = webRequest(request, exchange.signal);
    const response = server.refusedOrigin(asked) ?? refusedBatch(request) ?? (await server.answer(asked, exchange));
    const type = response.headers.get('content-type') ?? 'application/json';
    reply.status(response.status);
    const isEvents = type.startsWith('text/event-stream');
    if (response.body !== null && isEvents && asksForStream(request)) {
      reply.header('x-accel-buffering', 'no');
      const frames = withPatience(exchange.frames(response.body), STREAM_PATIENCE_MS, () => reply.raw.destroy());
      return new StreamableFile(Readable.from(frames, { objectMode: false, highWaterMark: PIECE_BYTES }), { type });
    }
    const allowed = response.headers.get('allow');
    if (allowed !== null) reply.header('allow', allowed);
    reply.header('content-type', isEvents ? type : `${type}; charset=utf-8`);
    return exchange.verbatim.restore(await response.text());
  }
}

/** One request counts as one for the limits, and holds one answer. Only the revision 2025-03-26 of the protocol has batches. */
function refusedBatch({ body }: FastifyRequest): Response | undefined {
  if (!isBatch(body)) return undefined;
  const error = { code: INVALID_REQUEST, message: 'Send one message in each request. Batches are not supported.' };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 400 });
}

/** Whether the body is a JSON array. */
function isBatch(body: unknown): boolean {
  if (!Buffer.isBuffer(body)) return false;
  return body.find((byte) => !BEFORE_JSON.has(byte)) === OPEN_BRACKET;
}

/**
 * Whether the answer is a stream. Clients of earlier revisions get each answer as a server-sent event, and the SDK has not
 * made it when it begins the response.
 */
function asksForStream({ body }: FastifyRequest): boolean {
  if (!Buffer.isBuffer(body)) return false;
  // As the SDK reads it, without a byte order mark.
  const { method } = JSON.parse(new TextDecoder().decode(body)) as { readonly method?: unknown };
  return method === 'events/stream';
}

/** Returns the request in the form of the web, which the SDK reads. */
function webRequest({ method, headers, body }: FastifyRequest, signal: AbortSignal): Request {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || name === 'x-api-key' || name === 'authorization'
      ? []
      : [[name, Array.isArray(value) ? value.join(', ') : value] as [string, string]],
  );
  // Nothing reads the target, and `Request` refuses one with a user.
  return new Request('http://gapless/mcp', {
    method,
    headers: pairs,
    signal,
    ...(Buffer.isBuffer(body) ? { body } : {}),
  });
}
