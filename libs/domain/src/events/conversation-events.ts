import { familyOf } from './catalog-entry.js';
import { conversationDataSchema } from './data-schemas/conversation-data.js';
import { openObjectSchema } from './data-schemas/json-schema.js';

const conversation = {
  id: 'cnv_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  subject: 'Where is my parcel?',
  first_message: 'Hello, my order 10042 has not arrived.',
  status: 'waiting_for_agent',
  waited_seconds: 62,
  queue_depth: 3,
  url: 'https://dashboard.example.com/conversations/cnv_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
};
const agent = { id: 'usr_214', name: 'Mara Lindt' };
const data = {
  conversation,
  widget: { id: '0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21', name: 'Shop' },
  channel: 'widget',
  department: { id: 'dep_7', name: 'Shipping' },
  visitor: {
    id: 'vis_88213',
    name: 'Jonas Weber',
    email: 'jonas.weber@example.com',
    verified: true,
    locale: 'de-DE',
    country: 'DE',
  },
};

/** Returns the example conversation with these changes. */
function dataWith(changes: Readonly<Record<string, unknown>>) {
  return { ...data, conversation: { ...conversation, ...changes } };
}

export const conversationEvents = familyOf(
  {
    family: 'conversation',
    scope: 'widget',
    subject: 'conversation.id',
    openSchema: openObjectSchema('The conversation, as its REST representation shows it.'),
  },
  [
    {
      event: 'conversation.created',
      description: 'A chat was started.',
      example: dataWith({ status: 'active', waited_seconds: 0, queue_depth: 0 }),
    },
    {
      event: 'conversation.queued',
      description: 'A handoff is unclaimed past the first alert threshold. Raises an alert.',
      schema: conversationDataSchema({
        description: 'A chat that nobody has answered past the first threshold.',
        status: 'waiting_for_agent',
        stage: 1,
      }),
      example: { ...data, stage: 1 },
    },
    {
      event: 'conversation.queued.escalated',
      description: 'A handoff is still unclaimed at the second alert threshold. Escalates the alert.',
      schema: conversationDataSchema({
        description: 'A chat that nobody has answered past the second threshold.',
        status: 'waiting_for_agent',
        stage: 2,
      }),
      example: { ...dataWith({ waited_seconds: 301, queue_depth: 4 }), stage: 2 },
    },
    {
      event: 'conversation.picked_up',
      description: 'An agent claimed a queued chat. Clears the alert; a clear without a raise is normal.',
      schema: conversationDataSchema({
        description: 'A queued chat and the agent who claimed it.',
        status: 'active',
        stage: 'absent',
        pickedUp: true,
      }),
      example: { ...dataWith({ status: 'active', waited_seconds: 0, queue_depth: 2 }), picked_up_by: agent },
    },
    {
      event: 'conversation.abandoned',
      description: 'The visitor left before an agent claimed the chat. Clears the alert.',
      schema: conversationDataSchema({
        description: 'A queued chat that its visitor left.',
        status: 'abandoned',
        stage: 'absent',
      }),
      example: dataWith({ status: 'abandoned', waited_seconds: 148, queue_depth: 2 }),
    },
    {
      event: 'conversation.handed_off',
      description: 'The AI escalated to a human; the chat entered the queue.',
      example: dataWith({ waited_seconds: 0 }),
    },
    {
      event: 'conversation.transferred',
      description: 'A chat moved to another agent, department or partner workspace.',
      example: { ...data, transferred_to: { type: 'department', id: 'dep_9', name: 'Returns' } },
    },
    {
      event: 'conversation.completed',
      description: 'A chat was resolved or closed.',
      example: dataWith({ status: 'resolved', waited_seconds: 0, queue_depth: 0 }),
    },
  ],
);
