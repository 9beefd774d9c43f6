import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { MIGRATIONS } from './index.js';

/** The beginning of the SHA-256 of the SQL that a migration runs, apart from white space and comments. */
async function digestOf(Migration: (typeof MIGRATIONS)[number]): Promise<string> {
  const statements: string[] = [];
  const query = (statement: string) => {
    statements.push(statement);
    return Promise.resolve([{ schema: 'public' }]);
  };
  await new Migration().up({ query } as unknown as QueryRunner);
  const text = statements.join(';').replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ');
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

describe('the migrations', () => {
  // A database never runs a migration twice. What it should get besides needs a migration of its own.
  it('do the same as when databases ran them', async () => {
    const digests = await Promise.all(
      MIGRATIONS.map(async (Migration) => `${new Migration().name} ${await digestOf(Migration)}`),
    );
    expect(digests).toEqual([
      'Projections1700000000001 d6147ca5e57b',
      'Records1700000000002 efdeb5d976b8',
      'TenantWall1700000000003 636347e150db',
      'IdempotencyKeys1700000000010 12b5f2dc6aa0',
      'ChatQueue1700000000020 5a73efbb6713',
      'LiveChatSettings1700000000021 47bdb8b7ad13',
      'Alerts1700000000022 d4b69ad77e65',
      'DayFunctions1700000000030 b493e9a070ff',
      'Roles1700000000031 0a45e04efe75',
      'DashboardSessions1700000000040 c2dd346db01c',
      'EndpointChanges1700000000041 ef972c6b043f',
      'AttemptOutcomes1700000000042 212b91c71a0c',
      'Installation1700000000051 920b48b1da7c',
      'ProjectionAnchors1700000000052 376e8271cdf4',
      'EndedBacklogs1700000000054 f12dddbbcf54',
      'ReceivingTimes1700000000055 a06978015c93',
      'AttemptClockLead1700000000056 c8f6a2c2d564',
      'LogMoments1700000000057 93ca111f4445',
      'TenantLogin1700000000061 888bfcb39ff4',
      'PreviousSecrets1700000000062 3451c4daa8e1',
      'AuditLog1700000000063 a8b2d4af9d6a',
      'Orgs1700000000070 74a720fba5fd',
      'OrgDays1700000000071 56663fc287ab',
      'PortalSessions1700000000072 647ef77c86c4',
      'FeedCursors1700000000077 dec5f89f2eb1',
      'DeliverySettings1700000000080 263f6d864f8a',
      'SigningKeys1700000000081 a043c7f81222',
      'SubscriptionChanges1700000000082 8ca6b2c06893',
      'OperationalEvents1700000000085 e0dd5a3cbd1a',
      'McpSubscriptions1700000000087 44477a662dab',
      'OperationalEventIds1700000000091 676c51058d0a',
      'AnswersAboutOrgs1700000000092 b649823c0605',
      'Filters1700000000093 92a636871fc7',
      'FeedDays1700000000094 467c826f2b71',
      'Recoveries1700000000095 f5dbc2ce5a1a',
      'Ordering1700000000100 367563ce1014',
      'PacedOwners1700000000101 308a04671df3',
      'EndpointVersions1700000000102 fb851d6362db',
      'AttemptWaits1700000000103 50069b27065b',
      'UrgentDeliveries1700000000105 d606d309125e',
      'FeedPlaces1700000000106 c151780a34b6',
      'FeedLists1700000000107 b83359bb04fc',
      'PreviousSeqs1700000000108 61d0cc0b7984',
      'AttachedDays1700000000109 5ac0952232a2',
      'SessionsOfOrg1700000000110 9bed454b5b63',
      'EndsOfVersions1700000000111 89ffdabbd5e4',
      'RareReads1700000000112 84209cb3d3c7',
      'EndedActivations1700000000113 71a5805bce3e',
      'LastingBacklogs1700000000115 9ea9ff954496',
      'OldestChats1700000000116 ab75bc715259',
      'ManyInactivePeriods1700000000117 5b71dc8df9c1',
      'MailsByOrg1700000000118 7b8303922a9c',
      'EndedKeys1700000000119 c0d447928e5e',
      'EndsOfActivations1700000000120 13b837ef13a7',
    ]);
  });
});
