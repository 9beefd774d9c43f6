import { Projections1700000000001 } from './0001-projections.js';
import { Records1700000000002 } from './0002-records.js';
import { TenantWall1700000000003 } from './0003-tenant-wall.js';
import { IdempotencyKeys1700000000010 } from './0010-idempotency-keys.js';
import { DashboardSessions1700000000040 } from './0040-dashboard-sessions.js';
import { EndpointChanges1700000000041 } from './0041-endpoint-changes.js';
import { AttemptOutcomes1700000000042 } from './0042-attempt-outcomes.js';

export const MIGRATIONS = [
  Projections1700000000001,
  Records1700000000002,
  TenantWall1700000000003,
  IdempotencyKeys1700000000010,
  DashboardSessions1700000000040,
  EndpointChanges1700000000041,
  AttemptOutcomes1700000000042,
];
