import type { components } from './schema.js';

// The schemas of the api's description, under the names that the pages use.
type Schemas = components['schemas'];

export type Session = Schemas['Session'];
export type Scope = Session['scopes'][number];
export type PortalSession = Schemas['PortalSession'];
export type OrganizationNames = Schemas['OrganizationNames'];
export type Overview = Schemas['Overview'];
export type Activity = Schemas['Activity'];
export type Endpoint = Schemas['Webhook'];
export type EndpointWithHealth = Schemas['WebhookWithHealth'];
export type EndpointWithSecret = Schemas['WebhookWithSecret'];
export type EndpointWithNewSecret = Schemas['WebhookWithNewSecret'];
export type NewEndpoint = Schemas['NewWebhook'];
export type EndpointChange = Schemas['WebhookChange'];
export type FilterTest = Schemas['FilterTest'];
export type FilterTestResult = Schemas['FilterTestResult'];
export type HealthStatus = EndpointWithHealth['health']['status'];
export type Delivery = Schemas['Delivery'];
export type DeliveryStatus = Delivery['status'];
export type DeliveryDetail = Schemas['DeliveryWithLog'];
export type Attempt = DeliveryDetail['attempts_log'][number];
export type SentRequest = Schemas['SentRequest'];
export type Recovery = Schemas['Recovery'];
export type RecoveryProgress = Schemas['RecoveryProgress'];
export type Envelope = Schemas['Envelope'];
export type StoredEvent = Schemas['StoredEvent'];
export type EventAnswer = Schemas['EventAnswer'];
export type EventType = Schemas['EventType'];
export type ApiKey = Schemas['ApiKey'];
export type ApiKeyWithSecret = Schemas['ApiKeyWithSecret'];
export type AuditEntry = Schemas['AuditEntry'];
export type Cursor = Schemas['Cursor'];
export type McpSubscription = Schemas['McpSubscription'];
export type LiveChatSettings = Schemas['LiveChatSettings'];
export type WaitingConversation = Schemas['WaitingConversation'];
export type RaisedAlert = Schemas['Alert'];
