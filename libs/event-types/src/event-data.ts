// Written by `npm run generate` from the catalog of libs/domain.

/**
 * The conversation, as its REST representation shows it.
 */
export interface ConversationData {
  [k: string]: unknown;
}

/**
 * A chat that nobody has answered past the first threshold.
 */
export interface ConversationQueuedData {
  conversation: {
    /**
     * Key alerts on it.
     */
    id: string;
    subject: string;
    /**
     * Absent or empty when no message exists yet.
     */
    first_message?: string;
    status: 'waiting_for_agent';
    /**
     * Seconds waited.
     */
    waited_seconds: number;
    /**
     * Number of chats in the queue.
     */
    queue_depth: number;
    /**
     * Deep link into the agent dashboard.
     */
    url: string;
    [k: string]: unknown;
  };
  /**
   * The owning widget; null for a conversation that belongs to none.
   */
  widget: {
    id: string;
    name: string;
    [k: string]: unknown;
  } | null;
  /**
   * For example `widget`.
   */
  channel: string;
  /**
   * The department; null or absent when the conversation has none.
   */
  department?: {
    id: string;
    name: string;
    [k: string]: unknown;
  } | null;
  /**
   * The visitor. All but the id may be missing, and all but `verified` null: an anonymous visitor has given no data yet.
   */
  visitor: {
    id: string;
    name?: string | null;
    email?: string | null;
    /**
     * true = passed identity verification.
     */
    verified?: boolean;
    locale?: string | null;
    country?: string | null;
    [k: string]: unknown;
  };
  /**
   * The alert threshold that was crossed.
   */
  stage: 1;
  [k: string]: unknown;
}

/**
 * A chat that nobody has answered past the second threshold.
 */
export interface ConversationQueuedEscalatedData {
  conversation: {
    /**
     * Key alerts on it.
     */
    id: string;
    subject: string;
    /**
     * Absent or empty when no message exists yet.
     */
    first_message?: string;
    status: 'waiting_for_agent';
    /**
     * Seconds waited.
     */
    waited_seconds: number;
    /**
     * Number of chats in the queue.
     */
    queue_depth: number;
    /**
     * Deep link into the agent dashboard.
     */
    url: string;
    [k: string]: unknown;
  };
  /**
   * The owning widget; null for a conversation that belongs to none.
   */
  widget: {
    id: string;
    name: string;
    [k: string]: unknown;
  } | null;
  /**
   * For example `widget`.
   */
  channel: string;
  /**
   * The department; null or absent when the conversation has none.
   */
  department?: {
    id: string;
    name: string;
    [k: string]: unknown;
  } | null;
  /**
   * The visitor. All but the id may be missing, and all but `verified` null: an anonymous visitor has given no data yet.
   */
  visitor: {
    id: string;
    name?: string | null;
    email?: string | null;
    /**
     * true = passed identity verification.
     */
    verified?: boolean;
    locale?: string | null;
    country?: string | null;
    [k: string]: unknown;
  };
  /**
   * The alert threshold that was crossed.
   */
  stage: 2;
  [k: string]: unknown;
}

/**
 * A queued chat and the agent who claimed it.
 */
export interface ConversationPickedUpData {
  conversation: {
    /**
     * Key alerts on it.
     */
    id: string;
    subject: string;
    /**
     * Absent or empty when no message exists yet.
     */
    first_message?: string;
    status: 'active';
    /**
     * Seconds waited.
     */
    waited_seconds: number;
    /**
     * Number of chats in the queue.
     */
    queue_depth: number;
    /**
     * Deep link into the agent dashboard.
     */
    url: string;
    [k: string]: unknown;
  };
  /**
   * The owning widget; null for a conversation that belongs to none.
   */
  widget: {
    id: string;
    name: string;
    [k: string]: unknown;
  } | null;
  /**
   * For example `widget`.
   */
  channel: string;
  /**
   * The department; null or absent when the conversation has none.
   */
  department?: {
    id: string;
    name: string;
    [k: string]: unknown;
  } | null;
  /**
   * The visitor. All but the id may be missing, and all but `verified` null: an anonymous visitor has given no data yet.
   */
  visitor: {
    id: string;
    name?: string | null;
    email?: string | null;
    /**
     * true = passed identity verification.
     */
    verified?: boolean;
    locale?: string | null;
    country?: string | null;
    [k: string]: unknown;
  };
  stage?: never;
  /**
   * The agent who claimed the chat.
   */
  picked_up_by: {
    id: string;
    name: string;
    [k: string]: unknown;
  };
  [k: string]: unknown;
}

/**
 * A queued chat that its visitor left.
 */
export interface ConversationAbandonedData {
  conversation: {
    /**
     * Key alerts on it.
     */
    id: string;
    subject: string;
    /**
     * Absent or empty when no message exists yet.
     */
    first_message?: string;
    status: 'abandoned';
    /**
     * Seconds waited.
     */
    waited_seconds: number;
    /**
     * Number of chats in the queue.
     */
    queue_depth: number;
    /**
     * Deep link into the agent dashboard.
     */
    url: string;
    [k: string]: unknown;
  };
  /**
   * The owning widget; null for a conversation that belongs to none.
   */
  widget: {
    id: string;
    name: string;
    [k: string]: unknown;
  } | null;
  /**
   * For example `widget`.
   */
  channel: string;
  /**
   * The department; null or absent when the conversation has none.
   */
  department?: {
    id: string;
    name: string;
    [k: string]: unknown;
  } | null;
  /**
   * The visitor. All but the id may be missing, and all but `verified` null: an anonymous visitor has given no data yet.
   */
  visitor: {
    id: string;
    name?: string | null;
    email?: string | null;
    /**
     * true = passed identity verification.
     */
    verified?: boolean;
    locale?: string | null;
    country?: string | null;
    [k: string]: unknown;
  };
  stage?: never;
  [k: string]: unknown;
}

/**
 * The ticket, as its REST representation shows it.
 */
export interface TicketData {
  [k: string]: unknown;
}

/**
 * The lead, as its REST representation shows it.
 */
export interface LeadCreatedData {
  id: string;
  /**
   * null when the lead left none.
   */
  email: string | null;
  /**
   * null or absent when the lead left none.
   */
  name?: string | null;
  /**
   * null or absent when the lead left none.
   */
  company?: string | null;
  /**
   * Where the contact was left: pre-chat form, in-chat, manual, Telegram; the list may grow.
   */
  source: string;
  /**
   * ISO 8601.
   */
  created_at: string;
  [k: string]: unknown;
}

/**
 * The visitor, as its REST representation shows it.
 */
export interface VisitorIdentifiedData {
  [k: string]: unknown;
}

/**
 * The call request, as /external/call-requests shows it, custom visitor-form fields included.
 */
export interface CallRequestData {
  [k: string]: unknown;
}

/**
 * The identity verification or the fraud signal.
 */
export interface VerificationData {
  [k: string]: unknown;
}

/**
 * The content entity, as the help content API shows it.
 */
export interface HelpDeskContentData {
  [k: string]: unknown;
}

/**
 * What happened to an endpoint, and to which.
 */
export interface EndpointFailingData {
  /**
   * The endpoint. name and url are null once it is deleted; url is its origin alone.
   */
  endpoint: {
    id: string;
    name: string | null;
    url: string | null;
    [k: string]: unknown;
  };
  /**
   * The organization of the endpoint.
   */
  org_id: string;
  /**
   * How often the endpoint was enabled, creation included.
   */
  activation: number;
  delivery_id: string;
  /**
   * How often the delivery was replayed.
   */
  run: number;
  /**
   * The attempt that reached half of the failures.
   */
  attempt: number;
  /**
   * Failed attempts in a row.
   */
  failure_count: number;
  /**
   * The HTTP status of the answer; null without one.
   */
  response_status: number | null;
  /**
   * Why the attempt failed.
   */
  last_error: string | null;
  [k: string]: unknown;
}

/**
 * What happened to an endpoint, and to which.
 */
export interface EndpointDisabledData {
  /**
   * The endpoint. name and url are null once it is deleted; url is its origin alone.
   */
  endpoint: {
    id: string;
    name: string | null;
    url: string | null;
    [k: string]: unknown;
  };
  /**
   * The organization of the endpoint.
   */
  org_id: string;
  /**
   * How often the endpoint was enabled, creation included.
   */
  activation: number;
  /**
   * consecutive_failures, gone or operator; the list may grow.
   */
  reason: string;
  [k: string]: unknown;
}

/**
 * What happened to an endpoint, and to which.
 */
export interface EndpointEnabledData {
  /**
   * The endpoint. name and url are null once it is deleted; url is its origin alone.
   */
  endpoint: {
    id: string;
    name: string | null;
    url: string | null;
    [k: string]: unknown;
  };
  /**
   * The organization of the endpoint.
   */
  org_id: string;
  /**
   * How often the endpoint was enabled, creation included.
   */
  activation: number;
  [k: string]: unknown;
}

/**
 * What happened to an endpoint, and to which.
 */
export interface DeliveryExhaustedData {
  /**
   * The endpoint. name and url are null once it is deleted; url is its origin alone.
   */
  endpoint: {
    id: string;
    name: string | null;
    url: string | null;
    [k: string]: unknown;
  };
  /**
   * The organization of the endpoint.
   */
  org_id: string;
  /**
   * The start of the minute, ISO 8601.
   */
  minute: string;
  /**
   * The deliveries that failed.
   */
  count: number;
  /**
   * One of them.
   */
  last: {
    delivery_id: string;
    event_id: string;
    event: string;
    seq: number;
    /**
     * The HTTP status of the answer; null without one.
     */
    response_status: number | null;
    /**
     * Why the attempt failed.
     */
    last_error: string | null;
    [k: string]: unknown;
  };
  [k: string]: unknown;
}

/**
 * What the test operation says about itself.
 */
export interface TestData {
  [k: string]: unknown;
}

/** What `data` is, by event type. */ export interface EventDataByType {
  /** A chat was started. */ 'conversation.created': ConversationData;
  /** A handoff is unclaimed past the first alert threshold. Raises an alert. */ 'conversation.queued': ConversationQueuedData;
  /** A handoff is still unclaimed at the second alert threshold. Escalates the alert. */ 'conversation.queued.escalated': ConversationQueuedEscalatedData;
  /** An agent claimed a queued chat. Clears the alert; a clear without a raise is normal. */ 'conversation.picked_up': ConversationPickedUpData;
  /** The visitor left before an agent claimed the chat. Clears the alert. */ 'conversation.abandoned': ConversationAbandonedData;
  /** The AI escalated to a human; the chat entered the queue. */ 'conversation.handed_off': ConversationData;
  /** A chat moved to another agent, department or partner workspace. */ 'conversation.transferred': ConversationData;
  /** A chat was resolved or closed. */ 'conversation.completed': ConversationData;
  /** A ticket was created. */ 'ticket.created': TicketData;
  /** Any field of a ticket changed. */ 'ticket.updated': TicketData;
  /** The status of a ticket changed. */ 'ticket.status_changed': TicketData;
  /** A ticket was assigned or reassigned. */ 'ticket.assigned': TicketData;
  /** A ticket lost its assignee. */ 'ticket.unassigned': TicketData;
  /** A ticket missed a service level target. */ 'ticket.sla_breach': TicketData;
  /** A ticket moved to another department. */ 'ticket.department_changed': TicketData;
  /** A resolved or closed ticket was reopened. */ 'ticket.reopened': TicketData;
  /** An agent replied; carries the content and the id of the actor. */ 'ticket.reply': TicketData;
  /** A sent agent reply was edited. */ 'ticket.reply_edited': TicketData;
  /** A visitor replied via the widget, by email or through the API. */ 'ticket.customer_reply': TicketData;
  /** A visitor submitted contact information. */ 'lead.created': LeadCreatedData;
  /** The identity of a visitor was captured or verified. */ 'visitor.identified': VisitorIdentifiedData;
  /** A visitor asked to be called. */ 'call_request.created': CallRequestData;
  /** The status or the assignment of a call request changed, or a note was added. */ 'call_request.updated': CallRequestData;
  /** The status of a call request reached completed. */ 'call_request.completed': CallRequestData;
  /** An identity verification was created. */ 'verification.created': VerificationData;
  /** The submitted evidence is being checked. */ 'verification.processing': VerificationData;
  /** The check of the evidence has ended. */ 'verification.completed': VerificationData;
  /** The identity was confirmed. */ 'verification.approved': VerificationData;
  /** The identity was not confirmed. */ 'verification.rejected': VerificationData;
  /** A person has to decide the verification. */ 'verification.manual_review': VerificationData;
  /** The verification was not finished in time. */ 'verification.expired': VerificationData;
  /** A visitor or a verification was flagged as fraud. */ 'fraud.flagged': VerificationData;
  /** A help center was created. */ 'help_center.created': HelpDeskContentData;
  /** The name, locales, domain or theme of a help center changed, or it was restored (`restored: true`). */ 'help_center.updated': HelpDeskContentData;
  /** A help center was deleted. */ 'help_center.deleted': HelpDeskContentData;
  /** A collection was created. */ 'help_collection.created': HelpDeskContentData;
  /** A collection changed, AI translation fills (`locales_filled`) included. */ 'help_collection.updated': HelpDeskContentData;
  /** A collection was deleted; its children moved to its parent. */ 'help_collection.deleted': HelpDeskContentData;
  /** The order of the collections under one parent changed. */ 'help_collection.reordered': HelpDeskContentData;
  /** A legacy category was created. */ 'help_category.created': HelpDeskContentData;
  /** A legacy category changed. */ 'help_category.updated': HelpDeskContentData;
  /** A legacy category was deleted. */ 'help_category.deleted': HelpDeskContentData;
  /** The order of the legacy categories under a collection changed. */ 'help_category.reordered': HelpDeskContentData;
  /** An article was created; carries its status. */ 'help_article.created': HelpDeskContentData;
  /** An article changed, AI translation fills (`locales_filled`) included. */ 'help_article.updated': HelpDeskContentData;
  /** An article was soft-deleted; it stays fetchable with `deleted_at` set. */ 'help_article.deleted': HelpDeskContentData;
  /** A draft article was published. */ 'help_article.published': HelpDeskContentData;
  /** The order of the articles in a collection changed. */ 'help_article.reordered': HelpDeskContentData;
  /** An endpoint has had half of the failures in a row that disable it. Operations organization only. */ 'endpoint.failing': EndpointFailingData;
  /** An endpoint became inactive: by its failures, by its answer, or by an operator. Operations organization only. */ 'endpoint.disabled': EndpointDisabledData;
  /** An endpoint was made active again. Operations organization only. */ 'endpoint.enabled': EndpointEnabledData;
  /** Deliveries of an endpoint failed with their last attempt; at most one event for each endpoint and minute. Operations organization only. */ 'delivery.exhausted': DeliveryExhaustedData;
  /** A test delivery that was asked for with the test operation. */ test: TestData;
}

/** Types whose events belong to no widget (contract 7.3). */ export type OrgWideEventType =
  | 'verification.created'
  | 'verification.processing'
  | 'verification.completed'
  | 'verification.approved'
  | 'verification.rejected'
  | 'verification.manual_review'
  | 'verification.expired'
  | 'fraud.flagged'
  | 'help_center.created'
  | 'help_center.updated'
  | 'help_center.deleted'
  | 'help_collection.created'
  | 'help_collection.updated'
  | 'help_collection.deleted'
  | 'help_collection.reordered'
  | 'help_category.created'
  | 'help_category.updated'
  | 'help_category.deleted'
  | 'help_category.reordered'
  | 'help_article.created'
  | 'help_article.updated'
  | 'help_article.deleted'
  | 'help_article.published'
  | 'help_article.reordered'
  | 'endpoint.failing'
  | 'endpoint.disabled'
  | 'endpoint.enabled'
  | 'delivery.exhausted'
  | 'test';

/** All that an endpoint can subscribe to and that is ever emitted. */
export const EVENT_TYPES = [
  'conversation.created',
  'conversation.queued',
  'conversation.queued.escalated',
  'conversation.picked_up',
  'conversation.abandoned',
  'conversation.handed_off',
  'conversation.transferred',
  'conversation.completed',
  'ticket.created',
  'ticket.updated',
  'ticket.status_changed',
  'ticket.assigned',
  'ticket.unassigned',
  'ticket.sla_breach',
  'ticket.department_changed',
  'ticket.reopened',
  'ticket.reply',
  'ticket.reply_edited',
  'ticket.customer_reply',
  'lead.created',
  'visitor.identified',
  'call_request.created',
  'call_request.updated',
  'call_request.completed',
  'verification.created',
  'verification.processing',
  'verification.completed',
  'verification.approved',
  'verification.rejected',
  'verification.manual_review',
  'verification.expired',
  'fraud.flagged',
  'help_center.created',
  'help_center.updated',
  'help_center.deleted',
  'help_collection.created',
  'help_collection.updated',
  'help_collection.deleted',
  'help_collection.reordered',
  'help_category.created',
  'help_category.updated',
  'help_category.deleted',
  'help_category.reordered',
  'help_article.created',
  'help_article.updated',
  'help_article.deleted',
  'help_article.published',
  'help_article.reordered',
  'endpoint.failing',
  'endpoint.disabled',
  'endpoint.enabled',
  'delivery.exhausted',
] as const;
