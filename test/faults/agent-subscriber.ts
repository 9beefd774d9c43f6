import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { SubmittedEvent } from './ledger.js';

/** The usual tolerance of 5 minutes, and the 10 minutes by which a fault sets the clock of the service. */
const CLOCKS_DIFFER_MS = 900_000;

/** What an agent subscribes to by MCP Events, in webhook mode. */
export interface AgentSubscription {
  readonly orgId: string;
  readonly event: string;
  readonly arguments: { readonly widget_id?: string; readonly filter?: string };
  /** Whether the filter selects a payload. */
  readonly selects: (data: unknown) => boolean;
}

/** A delivery that an agent has accepted. */
export interface AgentArrival {
  readonly eventId: string;
  readonly seq: number;
  /** The position up to which the agent need not ask for anything again. */
  readonly cursorSeq: number;
  readonly dataJson: string;
}

/** Whether the agent has to get the event. */
export function isForAgent(
  { orgId, event, arguments: given, selects }: AgentSubscription,
  one: SubmittedEvent,
): boolean {
  const isOfWidget = given.widget_id === undefined || given.widget_id === one.widgetId;
  return one.orgId === orgId && one.event === event && isOfWidget && selects(JSON.parse(one.dataJson));
}

/** The seq of a cursor, which the service does not disclose: its first eight bytes. */
export function seqOfCursor(cursor: string): number {
  return Number(Buffer.from(cursor, 'base64url').readBigUInt64BE());
}

interface Message {
  readonly type?: string;
  readonly challenge?: string;
  readonly eventId?: string;
  readonly cursor?: string;
  readonly _meta?: { readonly 'gapless/seq': number };
}

/** An agent that receives events by a callback, and what came there, in order. */
export class AgentSubscriber {
  readonly secret = `whsec_${randomBytes(32).toString('base64')}`;
  readonly arrivals: AgentArrival[] = [];
  /** Messages that are wrong, in words. */
  readonly wrong: string[] = [];
  readonly #refused = new Set<string>();

  /** @param refusesFirstOf every how many events the first delivery is answered 500; 0 for none */
  constructor(
    readonly name: string,
    readonly subscription: AgentSubscription,
    private readonly refusesFirstOf: number,
  ) {}

  /** @returns the status and the body to answer */
  receive(headers: Readonly<Record<string, string>>, body: Buffer): readonly [number, string] {
    const message = this.#verified(headers, body);
    if (message === undefined) return [401, ''];
    if (message.challenge !== undefined) return [200, JSON.stringify({ challenge: message.challenge })];
    const { eventId, cursor = '', _meta: meta } = message;
    if (eventId === undefined || meta === undefined) {
      this.wrong.push(`${this.name} got a message without an event: ${body.toString()}`);
      return [200, ''];
    }
    if (this.#refuses(eventId)) return [500, ''];
    const text = body.toString();
    const dataJson = text.slice(text.indexOf('"data":') + '"data":'.length, text.lastIndexOf(',"cursor":'));
    this.arrivals.push({ eventId, seq: meta['gapless/seq'], cursorSeq: seqOfCursor(cursor), dataJson });
    return [200, ''];
  }

  #verified(headers: Readonly<Record<string, string>>, body: Buffer): Message | undefined {
    const { 'webhook-id': id = '', 'webhook-timestamp': time = '', 'webhook-signature': signatures = '' } = headers;
    const text = body.toString();
    const sentAtMs = Number(time) * 1_000;
    const isInTime = Math.abs(Date.now() - sentAtMs) <= CLOCKS_DIFFER_MS;
    const signature = new Webhook(this.secret).sign(id, new Date(sentAtMs), text);
    if (isInTime && signatures.split(' ').includes(signature)) return JSON.parse(text) as Message;
    this.wrong.push(`${this.name} got a message with a wrong signature, or one of ${new Date(sentAtMs).toString()}`);
    return undefined;
  }

  #refuses(eventId: string): boolean {
    if (this.refusesFirstOf === 0 || Number(eventId.slice(-6)) % this.refusesFirstOf !== 0) return false;
    if (this.#refused.has(eventId)) return false;
    this.#refused.add(eventId);
    return true;
  }
}

/** What the service answers to a subscription or its refresh. */
export interface Grant {
  readonly cursor: string;
  readonly truncated: boolean;
}

/** Subscribes, or refreshes the subscription. @throws what the service refuses */
export async function subscribe(
  baseUrl: string,
  apiKey: string,
  { subscription, secret }: AgentSubscriber,
  callback: string,
): Promise<Grant> {
  const params = {
    name: subscription.event,
    arguments: subscription.arguments,
    delivery: { mode: 'webhook', url: callback, secret },
    ttlMs: null,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'faults', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  };
  const answer = await fetch(`${baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'events/subscribe',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'events/subscribe', params }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await answer.text();
  const { result } = JSON.parse(text) as { readonly result?: Grant };
  if (result === undefined) throw new Error(`events/subscribe was answered ${answer.status}: ${text}`);
  return result;
}
