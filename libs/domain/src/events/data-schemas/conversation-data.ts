import { JSON_SCHEMA_DIALECT, type JsonObject } from './json-schema.js';

/** What differs between the events with the shape of contract 3.3. */
interface ConversationDataRules {
  readonly description: string;
  /** The status that the event stands for. */
  readonly status: 'waiting_for_agent' | 'active' | 'abandoned';
  /** The alert threshold that was crossed; `absent`: the member must not be there. */
  readonly stage: 1 | 2 | 'absent';
  readonly pickedUp?: true;
}

function idAndName(description: string, nullable: boolean): JsonObject {
  return {
    type: nullable ? ['object', 'null'] : 'object',
    description,
    properties: { id: { type: 'string', minLength: 1 }, name: { type: 'string' } },
    required: ['id', 'name'],
  };
}

const visitor: JsonObject = {
  type: 'object',
  description: 'The visitor. All but the id may be missing or null: an anonymous visitor has given no data yet.',
  properties: {
    id: { type: 'string', minLength: 1 },
    name: { type: ['string', 'null'] },
    email: { type: ['string', 'null'] },
    verified: { type: 'boolean', description: 'true = passed identity verification.' },
    locale: { type: ['string', 'null'] },
    country: { type: ['string', 'null'] },
  },
  required: ['id'],
};

function conversation({ status }: ConversationDataRules): JsonObject {
  return {
    type: 'object',
    properties: {
      id: { type: 'string', minLength: 1, description: 'Key alerts on it.' },
      subject: { type: 'string' },
      first_message: { type: 'string', description: 'Absent or empty when no message exists yet.' },
      status: { type: 'string', const: status },
      waited_seconds: { type: 'integer', minimum: 0, description: 'Seconds waited.' },
      queue_depth: { type: 'integer', minimum: 0, description: 'Number of chats in the queue.' },
      url: { type: 'string', minLength: 1, description: 'Deep link into the agent dashboard.' },
    },
    required: ['id', 'subject', 'url', 'status', 'waited_seconds', 'queue_depth'],
  };
}

function stageProperty(stage: ConversationDataRules['stage']): JsonObject {
  switch (stage) {
    case 'absent':
      return { stage: false };
    case 1:
    case 2:
      return { stage: { type: 'integer', const: stage, description: 'The alert threshold that was crossed.' } };
  }
}

/**
 * `data` of the events of contract 3.3, and of the hand-off that they repeat (contract 7.4).
 *
 * The payload alone has to be enough for a notification, so what a notification shows is required. Where the spec is
 * silent the schema is tolerant: a conversation may belong to no widget (null) and to no department (null or absent).
 * Members that the spec does not name are allowed at every level, because `data` has the shape of the REST
 * representation, which may grow.
 */
export function conversationDataSchema(rules: ConversationDataRules): JsonObject {
  const stage = typeof rules.stage === 'number' ? ['stage'] : [];
  const pickedUpBy = rules.pickedUp ? ['picked_up_by'] : [];
  return {
    $schema: JSON_SCHEMA_DIALECT,
    type: 'object',
    description: rules.description,
    properties: {
      conversation: conversation(rules),
      widget: idAndName('The owning widget; null for a conversation that belongs to none.', true),
      channel: { type: 'string', minLength: 1, description: 'For example `widget`.' },
      department: idAndName('The department; null or absent when the conversation has none.', true),
      visitor,
      ...stageProperty(rules.stage),
      ...(rules.pickedUp ? { picked_up_by: idAndName('The agent who claimed the chat.', false) } : {}),
    },
    required: ['conversation', 'widget', 'channel', 'visitor', ...stage, ...pickedUpBy],
  };
}
