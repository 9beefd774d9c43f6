import { systemClock, type EndpointId, type OrgId } from '#libs/domain';
import { Identifiers } from '#libs/runtime';
import { EndpointRecords } from '../endpoints/endpoint-records.js';
import type { Store } from '../connection/store.js';
import { aCipher } from './a-test-store.js';

const identifiers = new Identifiers(systemClock);

/** Stores an active endpoint. */
export async function anEndpoint(
  store: Store,
  orgId: OrgId,
  logEnd = 0,
  records = new EndpointRecords(store, aCipher()),
): Promise<EndpointId> {
  const id = identifiers.endpointId();
  await records.create(
    {
      id,
      orgId,
      name: null,
      description: null,
      url: 'https://example.com/hook',
      events: ['ticket.created'],
      widgetIds: null,
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      createdAt: new Date(systemClock.now()),
      logEnd,
    },
    50,
  );
  return id;
}
