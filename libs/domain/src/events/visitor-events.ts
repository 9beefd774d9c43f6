import { familyOf } from './catalog-entry.js';
import { openObjectSchema } from './data-schemas/json-schema.js';
import { leadDataSchema } from './data-schemas/lead-data.js';

const lead = {
  id: 'lead_31877',
  email: 'jonas.weber@example.com',
  name: 'Jonas Weber',
  company: 'Weber Logistik GmbH',
  source: 'pre_chat_form',
  created_at: '2026-03-02T09:12:44.000Z',
};

export const visitorEvents = familyOf(
  {
    family: 'visitor',
    scope: 'widget',
    subject: 'id',
    openSchema: openObjectSchema('The visitor, as its REST representation shows it.'),
  },
  [
    {
      event: 'lead.created',
      description: 'A visitor submitted contact information.',
      schema: leadDataSchema,
      example: lead,
    },
    {
      event: 'lead.captured',
      description: 'A wrong documented name of `lead.created`. Never emitted: subscribing to it yields nothing.',
      deprecated: true,
      schema: leadDataSchema,
      example: lead,
    },
    {
      event: 'visitor.identified',
      description: 'The identity of a visitor was captured or verified.',
      example: {
        id: 'vis_88213',
        external_id: 'customer-10042',
        name: 'Jonas Weber',
        email: 'jonas.weber@example.com',
        verified: true,
        locale: 'de-DE',
        country: 'DE',
      },
    },
  ],
);
