import type { JsonObject, LiveChatSettings } from '#libs/domain';
import type { AlertRecord, WaitingRecord } from '#libs/postgres';
import { EVENT_ID, MAYBE_TEXT, MAYBE_TIMESTAMP, objectOf, TIMESTAMP } from '../http/shapes.js';
import { presenter, schemasOf, type ShownMembers } from '../http/shown-members.js';

export function liveChatSettingsJson({ firstAlertSeconds, secondAlertSeconds, staffAlerts }: LiveChatSettings) {
  return {
    first_alert_seconds: firstAlertSeconds,
    second_alert_seconds: secondAlertSeconds,
    staff_alerts: { enabled: staffAlerts.enabled, emails: staffAlerts.emails },
  };
}

const CONVERSATION_ID: JsonObject = { type: 'string', maxLength: 255 };
const MAYBE_NAMED: JsonObject = {
  anyOf: [objectOf({ id: { type: 'string' }, name: { type: 'string' } }), { type: 'null' }],
};

const WAITING = {
  conversation_id: [CONVERSATION_ID, ({ conversationId }) => conversationId],
  subject: [{ type: 'string' }, ({ snapshot }) => snapshot.subject],
  visitor_name: [MAYBE_TEXT, ({ snapshot }) => snapshot.visitor.name ?? null],
  widget: [MAYBE_NAMED, ({ snapshot }) => snapshot.widget],
  department: [MAYBE_NAMED, ({ snapshot }) => snapshot.department],
  url: [{ type: 'string', description: 'Deep link into the agent dashboard.' }, ({ snapshot }) => snapshot.url],
  waiting_since: [TIMESTAMP, ({ waitingSince }) => waitingSince.toISOString()],
  stage: [
    { type: 'integer', enum: [0, 1, 2], description: 'The highest threshold with an alert. 0: none.' },
    ({ stage }) => stage,
  ],
} as const satisfies ShownMembers<WaitingRecord>;

export const waitingConversationJson = presenter<WaitingRecord, typeof WAITING>(WAITING);

/** The JSON Schemas of its members. */
export const WAITING_CONVERSATION_SCHEMA = schemasOf<WaitingRecord>(WAITING);

const ALERT = {
  alert_id: [{ type: 'string', pattern: '^alr_[0-9A-HJKMNP-TV-Z]{26}$' }, ({ alertId }) => alertId],
  conversation_id: [CONVERSATION_ID, ({ conversationId }) => conversationId],
  subject: [{ type: 'string' }, ({ data }) => data.conversation.subject],
  visitor_name: [MAYBE_TEXT, ({ data }) => data.visitor.name ?? null],
  url: [
    { type: 'string', description: 'The conversation in the agent dashboard.' },
    ({ data }) => data.conversation.url,
  ],
  stage: [{ type: 'integer', enum: [1, 2] }, ({ stage }) => stage],
  event_id: [
    { ...EVENT_ID, description: 'The id of the conversation.queued or conversation.queued.escalated event.' },
    ({ eventId }) => eventId,
  ],
  raised_at: [TIMESTAMP, ({ raisedAt }) => raisedAt.toISOString()],
  cleared_at: [
    { ...MAYBE_TIMESTAMP, description: 'When the wait ended. null while it lasts.' },
    ({ clearedAt }) => clearedAt?.toISOString() ?? null,
  ],
  cleared_by: [
    {
      type: ['string', 'null'],
      enum: ['picked_up', 'abandoned', 'completed', 'handed_off', 'expired', null],
      description:
        'What ended the wait. handed_off: the conversation entered the queue again. expired: it waited for as long as events are kept.',
    },
    ({ clearedBy }) => clearedBy,
  ],
} as const satisfies ShownMembers<AlertRecord>;

export const alertJson = presenter<AlertRecord, typeof ALERT>(ALERT);

/** The JSON Schemas of its members. */
export const ALERT_SCHEMA = schemasOf<AlertRecord>(ALERT);
