import { Projections1700000000001 } from './up-to-0099/0001-projections.js';
import { Records1700000000002 } from './up-to-0099/0002-records.js';
import { TenantWall1700000000003 } from './up-to-0099/0003-tenant-wall.js';
import { IdempotencyKeys1700000000010 } from './up-to-0099/0010-idempotency-keys.js';
import { ChatQueue1700000000020 } from './up-to-0099/0020-chat-queue.js';
import { LiveChatSettings1700000000021 } from './up-to-0099/0021-live-chat-settings.js';
import { Alerts1700000000022 } from './up-to-0099/0022-alerts.js';
import { DayFunctions1700000000030 } from './up-to-0099/0030-day-functions.js';
import { Roles1700000000031 } from './up-to-0099/0031-roles.js';
import { DashboardSessions1700000000040 } from './up-to-0099/0040-dashboard-sessions.js';
import { EndpointChanges1700000000041 } from './up-to-0099/0041-endpoint-changes.js';
import { AttemptOutcomes1700000000042 } from './up-to-0099/0042-attempt-outcomes.js';
import { Installation1700000000051 } from './up-to-0099/0051-installation.js';
import { ProjectionAnchors1700000000052 } from './up-to-0099/0052-projection-anchors.js';
import { EndedBacklogs1700000000054 } from './up-to-0099/0054-ended-backlogs.js';
import { ReceivingTimes1700000000055 } from './up-to-0099/0055-receiving-times.js';
import { AttemptClockLead1700000000056 } from './up-to-0099/0056-attempt-clock-lead.js';
import { LogMoments1700000000057 } from './up-to-0099/0057-log-moments.js';
import { TenantLogin1700000000061 } from './up-to-0099/0061-tenant-login.js';
import { PreviousSecrets1700000000062 } from './up-to-0099/0062-previous-secrets.js';
import { AuditLog1700000000063 } from './up-to-0099/0063-audit-log.js';
import { Orgs1700000000070 } from './up-to-0099/0070-orgs.js';
import { OrgDays1700000000071 } from './up-to-0099/0071-org-days.js';
import { PortalSessions1700000000072 } from './up-to-0099/0072-portal-sessions.js';
import { FeedCursors1700000000077 } from './up-to-0099/0077-feed-cursors.js';
import { DeliverySettings1700000000080 } from './up-to-0099/0080-delivery-settings.js';
import { SigningKeys1700000000081 } from './up-to-0099/0081-signing-keys.js';
import { SubscriptionChanges1700000000082 } from './up-to-0099/0082-subscription-changes.js';
import { OperationalEvents1700000000085 } from './up-to-0099/0085-operational-events.js';
import { McpSubscriptions1700000000087 } from './up-to-0099/0087-mcp-subscriptions.js';
import { OperationalEventIds1700000000091 } from './up-to-0099/0091-operational-event-ids.js';
import { AnswersAboutOrgs1700000000092 } from './up-to-0099/0092-answers-about-orgs.js';
import { Filters1700000000093 } from './up-to-0099/0093-filters.js';
import { FeedDays1700000000094 } from './up-to-0099/0094-feed-days.js';
import { Recoveries1700000000095 } from './up-to-0099/0095-recoveries.js';
import { Ordering1700000000100 } from './0100-ordering.js';
import { PacedOwners1700000000101 } from './0101-paced-owners.js';
import { EndpointVersions1700000000102 } from './0102-endpoint-versions.js';
import { AttemptWaits1700000000103 } from './0103-attempt-waits.js';
import { UrgentDeliveries1700000000105 } from './0105-urgent-deliveries.js';
import { FeedPlaces1700000000106 } from './0106-feed-places.js';
import { FeedLists1700000000107 } from './0107-feed-lists.js';
import { PreviousSeqs1700000000108 } from './0108-previous-seqs.js';
import { AttachedDays1700000000109 } from './0109-attached-days.js';
import { SessionsOfOrg1700000000110 } from './0110-sessions-of-org.js';
import { EndsOfVersions1700000000111 } from './0111-ends-of-versions.js';
import { RareReads1700000000112 } from './0112-rare-reads.js';
import { EndedActivations1700000000113 } from './0113-ended-activations.js';
import { LastingBacklogs1700000000115 } from './0115-lasting-backlogs.js';
import { OldestChats1700000000116 } from './0116-oldest-chats.js';
import { ManyInactivePeriods1700000000117 } from './0117-many-inactive-periods.js';
import { MailsByOrg1700000000118 } from './0118-mails-by-org.js';
import { EndedKeys1700000000119 } from './0119-ended-keys.js';
import { EndsOfActivations1700000000120 } from './0120-ends-of-activations.js';

export const MIGRATIONS = [
  Projections1700000000001,
  Records1700000000002,
  TenantWall1700000000003,
  IdempotencyKeys1700000000010,
  ChatQueue1700000000020,
  LiveChatSettings1700000000021,
  Alerts1700000000022,
  DayFunctions1700000000030,
  Roles1700000000031,
  DashboardSessions1700000000040,
  EndpointChanges1700000000041,
  AttemptOutcomes1700000000042,
  Installation1700000000051,
  ProjectionAnchors1700000000052,
  EndedBacklogs1700000000054,
  ReceivingTimes1700000000055,
  AttemptClockLead1700000000056,
  LogMoments1700000000057,
  TenantLogin1700000000061,
  PreviousSecrets1700000000062,
  AuditLog1700000000063,
  Orgs1700000000070,
  OrgDays1700000000071,
  PortalSessions1700000000072,
  FeedCursors1700000000077,
  DeliverySettings1700000000080,
  SigningKeys1700000000081,
  SubscriptionChanges1700000000082,
  OperationalEvents1700000000085,
  McpSubscriptions1700000000087,
  OperationalEventIds1700000000091,
  AnswersAboutOrgs1700000000092,
  Filters1700000000093,
  FeedDays1700000000094,
  Recoveries1700000000095,
  Ordering1700000000100,
  PacedOwners1700000000101,
  EndpointVersions1700000000102,
  AttemptWaits1700000000103,
  UrgentDeliveries1700000000105,
  FeedPlaces1700000000106,
  FeedLists1700000000107,
  PreviousSeqs1700000000108,
  AttachedDays1700000000109,
  SessionsOfOrg1700000000110,
  EndsOfVersions1700000000111,
  RareReads1700000000112,
  EndedActivations1700000000113,
  LastingBacklogs1700000000115,
  OldestChats1700000000116,
  ManyInactivePeriods1700000000117,
  MailsByOrg1700000000118,
  EndedKeys1700000000119,
  EndsOfActivations1700000000120,
];
