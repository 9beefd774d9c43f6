import { familyOf } from './catalog-entry.js';
import { openObjectSchema } from './data-schemas/json-schema.js';

const callRequest = {
  id: 'call_7041',
  status: 'pending',
  name: 'Jonas Weber',
  phone: '+4930901820',
  preferred_at: '2026-03-03T13:00:00.000Z',
  assignee: null,
  notes: [],
  custom_fields: { order_number: '10042', language: 'German' },
  created_at: '2026-03-02T09:20:00.000Z',
  updated_at: '2026-03-02T09:20:00.000Z',
};
const assignee = { id: 'usr_214', name: 'Mara Lindt' };

export const callRequestEvents = familyOf(
  {
    family: 'call_request',
    scope: 'widget',
    subject: 'id',
    openSchema: openObjectSchema(
      'The call request, as /external/call-requests shows it, custom visitor-form fields included.',
    ),
  },
  [
    { event: 'call_request.created', description: 'A visitor asked to be called.', example: callRequest },
    {
      event: 'call_request.updated',
      description: 'The status or the assignment of a call request changed, or a note was added.',
      example: { ...callRequest, status: 'scheduled', assignee, updated_at: '2026-03-02T09:41:18.000Z' },
    },
    {
      event: 'call_request.completed',
      description: 'The status of a call request reached completed.',
      example: { ...callRequest, status: 'completed', assignee, updated_at: '2026-03-03T13:18:52.000Z' },
    },
  ],
);
