import { familyOf } from './catalog-entry.js';
import { openObjectSchema } from './data-schemas/json-schema.js';

/**
 * The `test` type. Only the test operation makes such events, and only the tested endpoint gets them (contract 4.5).
 */
export const testEvents = familyOf(
  {
    family: 'test',
    scope: 'org',
    subject: 'endpoint_id',
    openSchema: openObjectSchema('What the test operation says about itself.'),
  },
  [
    {
      event: 'test',
      description: 'A test delivery that was asked for with the test operation.',
      example: { message: 'This is a test event.', endpoint_id: 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG' },
    },
  ],
);
