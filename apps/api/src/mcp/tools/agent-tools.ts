import { Injectable } from '@nestjs/common';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { UNTRUSTED_META } from '../event-occurrence.js';
import type { Exchange } from '../exchange.js';
import { Refusals } from '../refusal.js';
import { ExplainDeliveryTool } from './explain-delivery.tool.js';
import { ListEndpointsTool } from './list-endpoints.tool.js';
import { ListWaitingTool } from './list-waiting.tool.js';
import { ReadEventsTool } from './read-events.tool.js';
import { RecoverEndpointTool } from './recover-endpoint.tool.js';
import { ReplayDeliveryTool } from './replay-delivery.tool.js';
import { textOf, type AgentTool } from './tool.js';

/** The tools of agents. */
@Injectable()
export class AgentTools {
  readonly #tools: readonly AgentTool[];

  constructor(
    private readonly refusals: Refusals,
    readEvents: ReadEventsTool,
    listWaiting: ListWaitingTool,
    listEndpoints: ListEndpointsTool,
    explainDelivery: ExplainDeliveryTool,
    replayDelivery: ReplayDeliveryTool,
    recoverEndpoint: RecoverEndpointTool,
  ) {
    const all = [readEvents, listWaiting, listEndpoints, explainDelivery, replayDelivery, recoverEndpoint];
    this.#tools = all.map(({ tool }) => tool);
  }

  /** Adds the tools that the key may use. */
  addTo(server: McpServer, exchange: Exchange): void {
    server.server.registerCapabilities({ tools: { listChanged: false } });
    for (const tool of this.#tools) {
      const { name, title, description, scopes, input, annotations } = tool;
      if (!scopes.every((scope) => exchange.key.scopes.includes(scope))) continue;
      server.registerTool(name, { title, description, inputSchema: input, annotations }, (given) =>
        this.#run(tool, exchange, given),
      );
    }
  }

  async #run(tool: AgentTool, exchange: Exchange, given: Record<string, unknown>): Promise<CallToolResult> {
    try {
      const answer = await tool.run(exchange, given);
      const content = [{ type: 'text' as const, text: textOf(answer) }];
      return answer.isUntrusted ? { content, _meta: UNTRUSTED_META } : { content };
    } catch (error) {
      const { code, detail, problems } = this.refusals.failure(error, exchange.actor.requestId);
      const all = [detail, ...problems.map((problem) => `${problem.pointer}: ${problem.detail}`)];
      return { isError: true, content: [{ type: 'text', text: `${code}: ${all.join(' ')}` }] };
    }
  }
}
