import type { JsonObject } from '#libs/domain';

// The JSON Schemas that several members share.

export const UUID: JsonObject = { type: 'string', format: 'uuid' };
export const TIMESTAMP: JsonObject = { type: 'string', format: 'date-time' };
export const MAYBE_TIMESTAMP: JsonObject = { type: ['string', 'null'], format: 'date-time' };
export const MAYBE_TEXT: JsonObject = { type: ['string', 'null'] };
export const MAYBE_INTEGER: JsonObject = { type: ['integer', 'null'] };
export const ENDPOINT_ID: JsonObject = { type: 'string', pattern: '^whe_[0-9A-HJKMNP-TV-Z]{26}$' };
export const DELIVERY_ID: JsonObject = { type: 'string', pattern: '^whd_[0-9A-HJKMNP-TV-Z]{26}$' };
export const EVENT_ID: JsonObject = { type: 'string', pattern: '^evt_[0-9A-Za-z]{16,64}$' };
export const COUNT: JsonObject = { type: 'integer', minimum: 0 };

/** Returns the schema of an object whose members are all required. */
export function objectOf(properties: JsonObject, description?: string): JsonObject {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    required: Object.keys(properties),
    properties,
  };
}
