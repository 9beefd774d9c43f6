import type { JsonObject } from '../events/index.js';
import { parseConversationId, type ConversationId } from '../kernel/index.js';

export interface IdAndName {
  readonly id: string;
  readonly name: string;
}

/** The visitor's members of contract 3.3, as far as the producer sent them. */
export interface Visitor {
  readonly id: string;
  readonly name?: string | null;
  readonly email?: string | null;
  readonly verified?: boolean;
  readonly locale?: string | null;
  readonly country?: string | null;
}

/** The data of a waiting conversation that alerting events repeat (contract 3.3). */
export interface ConversationSnapshot {
  readonly subject: string;
  readonly firstMessage: string | null;
  readonly url: string;
  readonly widget: IdAndName | null;
  readonly channel: string;
  readonly department: IdAndName | null;
  readonly visitor: Visitor;
}

/** The members of a snapshot that an event sets. Absent members stay as they are. */
export type SnapshotChange = Partial<ConversationSnapshot>;

/**
 * The largest snapshot, bytes of JSON. An alerting event repeats it, and must not be larger than an event may be: it
 * would become a dead letter, and nobody would be alerted. One hand-off never has more, but transfers may add to it.
 */
const LARGEST_SNAPSHOT_BYTES = 255 * 1024;
/** The most characters of each text of a snapshot that is too large: all of them fit, however JSON escapes them. */
const SHORTENED_TEXT = 2_600;
const HALF_CHARACTER = /\p{Surrogate}$/u;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** Whether the value is a text that is not empty. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Returns `undefined` for a value that is neither null nor an object with an id. */
function idAndName(value: unknown): IdAndName | null | undefined {
  if (value === null) return null;
  const [id, name] = [memberOf(value, 'id'), memberOf(value, 'name')];
  return isText(id) ? { id, name: typeof name === 'string' ? name : '' } : undefined;
}

function visitorOf(value: unknown): Visitor | undefined {
  const id = memberOf(value, 'id');
  if (!isText(id)) return undefined;
  const text = <Name extends string>(name: Name) => {
    const given = memberOf(value, name);
    return (typeof given === 'string' || given === null ? { [name]: given } : {}) as Readonly<
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

/** A transfer names the target of the conversation. A waiting conversation has a department only. */
function departmentOf(data: JsonObject): IdAndName | null | undefined {
  const target = data['transferred_to'];
  const moved = memberOf(target, 'type') === 'department' ? idAndName(target) : undefined;
  return moved ?? idAndName(data['department']);
}

/** Returns `undefined` if `data` has no conversation id. */
export function conversationIdIn(data: JsonObject): ConversationId | undefined {
  return parseConversationId(memberOf(data['conversation'], 'id'));
}

/**
 * Reads the `data` of a conversation event. Events that put a conversation in the queue have an open shape, so each member
 * counts by itself. A member that is missing or has another type is ignored.
 */
export function readSnapshotChange(data: JsonObject): SnapshotChange {
  const conversation = data['conversation'];
  const [subject, firstMessage, url] = ['subject', 'first_message', 'url'].map((name) => memberOf(conversation, name));
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

/** Returns the snapshot, with shortened texts if it is too large for an alerting event. */
export function fittingSnapshot(snapshot: ConversationSnapshot): ConversationSnapshot {
  if (Buffer.byteLength(JSON.stringify(snapshot)) <= LARGEST_SNAPSHOT_BYTES) return snapshot;
  return JSON.parse(
    JSON.stringify(snapshot, (_name, value: unknown) =>
      typeof value === 'string' ? value.slice(0, SHORTENED_TEXT).replace(HALF_CHARACTER, '') : value,
    ),
  ) as ConversationSnapshot;
}

/**
 * Makes a whole snapshot from a hand-off. An unanswered chat raises an alert even if its producer sent little data.
 * Missing members that contract 3.3 requires therefore get the emptiest value that their schema accepts.
 */
export function wholeSnapshot(conversationId: ConversationId, change: SnapshotChange): ConversationSnapshot {
  return {
    subject: '',
    firstMessage: null,
    url: `/conversations/${encodeURIComponent(conversationId)}`,
    widget: null,
    channel: 'widget',
    department: null,
    visitor: { id: 'unknown' },
    ...change,
  };
}
