import { JSON_SCHEMA_DIALECT, type JsonObject } from './json-schema.js';

/** The differences between the events with the shape of contract 3.3. */
interface ConversationDataRules {
  readonly description: string;
  /** The conversation's status in the event. */
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
  description:
    'The visitor. All but the id may be missing, and all but `verified` null: an anonymous visitor has given no data yet.',
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
 * Schema of `data` for the events of contract 3.3, and for the hand-off that they repeat (contract 7.4).
 *
 * The payload alone must be enough for a notification, so the members that a notification shows are required. The
 * schema is tolerant where the spec is silent: a conversation may have no widget (null) and no department (null or
 * absent). Unknown members are allowed at every level, because the REST representation may grow.
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
