import type { JsonObject } from '../events/index.js';
import { parseConversationId, type ConversationId } from '../kernel/index.js';

export interface IdAndName {
  readonly id: string;
  readonly name: string;
}

/** The visitor's members of contract 3.3, those that were told. */
export interface Visitor {
  readonly id: string;
  readonly name?: string | null;
  readonly email?: string | null;
  readonly verified?: boolean;
  readonly locale?: string | null;
  readonly country?: string | null;
}

/** What is known of a conversation that waits: what alerting events repeat (contract 3.3). */
export interface ConversationSnapshot {
  readonly subject: string;
  readonly firstMessage: string | null;
  readonly url: string;
  readonly widget: IdAndName | null;
  readonly channel: string;
  readonly department: IdAndName | null;
  readonly visitor: Visitor;
}

/** The members of a snapshot that an event tells; what is absent stays as it was. */
export type SnapshotChange = Partial<ConversationSnapshot>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** A text that says something. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** `undefined` for what is neither null nor an object with an id. */
function idAndName(value: unknown): IdAndName | null | undefined {
  if (value === null) return null;
  const [id, name] = [memberOf(value, 'id'), memberOf(value, 'name')];
  return isText(id) ? { id, name: typeof name === 'string' ? name : '' } : undefined;
}

function visitorOf(value: unknown): Visitor | undefined {
  const id = memberOf(value, 'id');
  if (!isText(id)) return undefined;
  const text = <Name extends string>(name: Name) => {
    const told = memberOf(value, name);
    return (typeof told === 'string' || told === null ? { [name]: told } : {}) as Readonly<
      Partial<Record<Name, string | null>>
    >;
  };
  const verified = memberOf(value, 'verified');
  return {
    id,
    ...text('name'),
    ...text('email'),
    ...(typeof verified === 'boolean' ? { verified } : {}),
    ...text('locale'),
    ...text('country'),
  };
}

/** A transfer tells where the conversation has gone; of that, only a department belongs to it while it waits. */
function departmentOf(data: JsonObject): IdAndName | null | undefined {
  const target = data['transferred_to'];
  const moved = memberOf(target, 'type') === 'department' ? idAndName(target) : undefined;
  return moved ?? idAndName(data['department']);
}

/** `undefined` for a `data` that names no conversation. */
export function conversationIdIn(data: JsonObject): ConversationId | undefined {
  return parseConversationId(memberOf(data['conversation'], 'id'));
}

/**
 * What the `data` of a conversation event tells. The shape of those that put a conversation in the queue is open, so
 * each member counts by itself: one that is missing or of another type tells nothing.
 */
export function readSnapshotChange(data: JsonObject): SnapshotChange {
  const told = data['conversation'];
  const [subject, firstMessage, url] = ['subject', 'first_message', 'url'].map((name) => memberOf(told, name));
  const widget = idAndName(data['widget']);
  const channel = data['channel'];
  const department = departmentOf(data);
  const visitor = visitorOf(data['visitor']);
  return {
    ...(typeof subject === 'string' ? { subject } : {}),
    ...(typeof firstMessage === 'string' ? { firstMessage } : {}),
    ...(isText(url) ? { url } : {}),
    ...(widget === undefined ? {} : { widget }),
    ...(isText(channel) ? { channel } : {}),
    ...(department === undefined ? {} : { department }),
    ...(visitor === undefined ? {} : { visitor }),
  };
}

/**
 * A whole snapshot of what a hand-off tells. A chat that nobody answers raises an alert however little its producer
 * has told, so what contract 3.3 requires and is missing gets the emptiest value that its schema takes.
 */
export function wholeSnapshot(conversationId: ConversationId, told: SnapshotChange): ConversationSnapshot {
  return {
    subject: '',
    firstMessage: null,
    url: `/conversations/${encodeURIComponent(conversationId)}`,
    widget: null,
    channel: 'widget',
    department: null,
    visitor: { id: 'unknown' },
    ...told,
  };
}
