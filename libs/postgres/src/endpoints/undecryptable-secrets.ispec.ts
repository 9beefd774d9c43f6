import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, type EndpointId, type OrgId, type Seq } from '#libs/domain';
import { CelFilters } from '#libs/event-filter';
import { Identifiers } from '#libs/runtime';
import { aDueAttempt } from '../../../../test/support/due-attempts.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { SecretCipher } from '../access/secret-cipher.js';
import type { Store } from '../connection/store.js';
import { McpSubscriptions } from '../mcp/mcp-subscriptions.js';
import { aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { EndpointDirectory } from './endpoint-directory.js';
import { EndpointRecords } from './endpoint-records.js';

const HOUR_MS = 3_600_000;
const SECRET = 'whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3';

const [lost, kept] = ['k1', 'k2'].map((id) => new SecretCipher(`${id}:${randomBytes(32).toString('base64')}`)) as [
  SecretCipher,
  SecretCipher,
];

let store: Store;
let drop: () => Promise<void>;
let orgId: OrgId;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(() => drop());

beforeEach(() => {
  orgId = anOrgId();
});

async function target(id: EndpointId) {
  const [found] = await new EndpointDirectory(store, kept).lookUp([aDueAttempt(1, id)]);
  return found;
}

describe('an endpoint whose secret was encrypted with a key that is missing', () => {
  let id: EndpointId;
  let records: EndpointRecords;

  beforeEach(async () => {
    id = await anEndpoint(store, orgId, 0, new EndpointRecords(store, lost));
    records = new EndpointRecords(store, kept);
  });

  it('is shown without its secrets', async () => {
    const overlapsUntil = new Date(systemClock.now() + HOUR_MS);
    await new EndpointRecords(store, lost).replaceSecret(orgId, id, SECRET, { at: new Date(), overlapsUntil });
    expect(await records.pushTarget(orgId, id)).toMatchObject({ secret: null, previousSecret: null });
  });

  it('is pushed to at once after its secret is replaced, without an overlap', async () => {
    expect(await target(id)).toMatchObject({ kind: 'unreadable' });
    const overlapsUntil = new Date(systemClock.now() + HOUR_MS);
    const replaced = await records.replaceSecret(orgId, id, SECRET, { at: new Date(), overlapsUntil });
    expect(replaced?.previousSecretUntil).toBeNull();
    expect(await target(id)).toMatchObject({ kind: 'target', target: { secret: SECRET, previousSecret: null } });
  });
});

it('an agent can replace such a secret of its subscription', async () => {
  const subscribe = (cipher: SecretCipher, secret: string) => {
    const at = new Date();
    const given = {
      id: 'sub_1',
      orgId,
      endpointId: new Identifiers(systemClock).endpointId(),
      keyId: 'gk_1',
      url: 'https://agent.example/',
      name: 'ticket.created',
      arguments: {},
      widgetId: null,
      filter: null,
      secret,
      grantedUntil: null,
      since: 0 as Seq,
      at,
      overlapsUntil: new Date(at.getTime() + HOUR_MS),
      keptSince: at,
    };
    return new McpSubscriptions(store, cipher, new CelFilters()).subscribe(given, 1);
  };
  await subscribe(lost, 'whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk');
  expect(await subscribe(kept, SECRET)).toMatchObject({ kind: 'refreshed' });
  const [stored] = await store.query<{ secret: Buffer; previous: Buffer | null; until: Date | null }>(
    `select secret_ciphertext as secret, previous_secret_ciphertext as previous, previous_secret_until as until
     from endpoints where org_id = $1`,
    [orgId],
  );
  expect({ ...stored, secret: kept.decrypt(stored!.secret) }).toEqual({ secret: SECRET, previous: null, until: null });
});
