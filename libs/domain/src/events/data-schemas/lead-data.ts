import { JSON_SCHEMA_DIALECT, type JsonObject } from './json-schema.js';

/**
 * `data` of `lead.created`: the REST shape of a lead (contract 3.4). Members that a visitor may leave out are nullable:
 * a lead from Telegram has no email, and a pre-chat form may not ask for name and company. Unknown members are allowed,
 * because the REST shape may grow.
 */
export const leadDataSchema: JsonObject = {
  $schema: JSON_SCHEMA_DIALECT,
  type: 'object',
  description: 'The lead, as its REST representation shows it.',
  properties: {
    id: { type: 'string', minLength: 1 },
    email: { type: ['string', 'null'], description: 'null when the lead left none.' },
    name: { type: ['string', 'null'], description: 'null or absent when the lead left none.' },
    company: { type: ['string', 'null'], description: 'null or absent when the lead left none.' },
    source: {
      type: 'string',
      minLength: 1,
      description: 'Where the contact was left: pre-chat form, in-chat, manual, Telegram; the list may grow.',
      examples: ['pre_chat_form'],
    },
    created_at: { type: 'string', format: 'date-time', description: 'ISO 8601.' },
  },
  required: ['id', 'email', 'source', 'created_at'],
};
