import { familyOf } from './catalog-entry.js';
import { openObjectSchema } from './data-schemas/json-schema.js';

const ticket = {
  id: 'tkt_5120',
  number: 5120,
  subject: 'Invoice shows the wrong address',
  status: 'open',
  priority: 'normal',
  department: { id: 'dep_3', name: 'Billing' },
  assignee: null,
  requester: { id: 'vis_88213', name: 'Jonas Weber', email: 'jonas.weber@example.com' },
  created_at: '2026-03-02T09:14:05.000Z',
  updated_at: '2026-03-02T09:14:05.000Z',
};
const agent = { id: 'usr_214', name: 'Mara Lindt' };
const agentReply = {
  id: 'rpl_90233',
  content: 'We have corrected the address and sent a new invoice.',
  actor_id: agent.id,
  created_at: '2026-03-02T10:02:41.000Z',
};

export const ticketEvents = familyOf(
  {
    family: 'ticket',
    scope: 'widget',
    subject: 'id',
    openSchema: openObjectSchema('The ticket, as its REST representation shows it.'),
  },
  [
    { event: 'ticket.created', description: 'A ticket was created.', example: ticket },
    {
      event: 'ticket.updated',
      description: 'Any field of a ticket changed.',
      example: { ...ticket, priority: 'high', changed: ['priority'] },
    },
    {
      event: 'ticket.status_changed',
      description: 'The status of a ticket changed.',
      example: { ...ticket, status: 'resolved', previous_status: 'open' },
    },
    {
      event: 'ticket.assigned',
      description: 'A ticket was assigned or reassigned.',
      example: { ...ticket, assignee: agent },
    },
    {
      event: 'ticket.unassigned',
      description: 'A ticket lost its assignee.',
      example: { ...ticket, previous_assignee: agent },
    },
    {
      event: 'ticket.sla_breach',
      description: 'A ticket missed a service level target.',
      example: { ...ticket, sla: { metric: 'first_response', due_at: '2026-03-02T10:14:05.000Z' } },
    },
    {
      event: 'ticket.department_changed',
      description: 'A ticket moved to another department.',
      example: { ...ticket, previous_department: { id: 'dep_7', name: 'Shipping' } },
    },
    {
      event: 'ticket.reopened',
      description: 'A resolved or closed ticket was reopened.',
      example: { ...ticket, status: 'open', previous_status: 'resolved' },
    },
    {
      event: 'ticket.reply',
      subject: 'ticket.id',
      description: 'An agent replied; carries the content and the id of the actor.',
      example: { ticket, reply: agentReply },
    },
    {
      event: 'ticket.reply_edited',
      subject: 'ticket.id',
      description: 'A sent agent reply was edited.',
      example: { ticket, reply: { ...agentReply, edited_at: '2026-03-02T10:05:00.000Z' } },
    },
    {
      event: 'ticket.customer_reply',
      subject: 'ticket.id',
      description: 'A visitor replied via the widget, by email or through the API.',
      example: {
        ticket,
        reply: {
          id: 'rpl_90241',
          content: 'Thank you, that is right now.',
          channel: 'email',
          created_at: '2026-03-02T11:30:12.000Z',
        },
      },
    },
  ],
);
