import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, messageOf, OperatorError, parseOrgId, systemClock, type OrgId } from '#libs/domain';
import {
  API_KEY_SCOPES,
  API_KEY_SECRET_BYTES,
  ApiKeyRecords,
  isServiceKeyScope,
  ORG_KEY_SCOPES,
  parseApiKey,
  type ApiKeyScope,
  type Store,
} from '#libs/postgres';
import { Identifiers, replaceFile } from '#libs/runtime';

/** The content of `DATA_DIR/credentials.json` (contract 11). */
export interface Credentials {
  readonly base_url: string;
  readonly org_id: string;
  readonly api_key: string;
  readonly service_key: string;
  readonly kafka_brokers: string;
  readonly database_url: string;
}

const SERVICE_SCOPES: readonly ApiKeyScope[] = API_KEY_SCOPES.filter(isServiceKeyScope);

/** The file with the earlier credentials is damaged. Without its id and keys, the demo org would be another one. */
export class UnreadableCredentialsError extends OperatorError {
  override readonly name = 'UnreadableCredentialsError';
}

/** Returns the content of the file, which is empty if there is none. @throws UnreadableCredentialsError */
async function readEarlier(path: string): Promise<Partial<Credentials>> {
  try {
    const earlier = JSON.parse(await readFile(path, 'utf8')) as Partial<Credentials> | null;
    if (typeof earlier === 'object' && earlier !== null) return earlier;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return {};
    // The message of a SyntaxError quotes the file, which has keys.
    if (!(error instanceof SyntaxError)) throw unreadable(path, messageOf(error));
  }
  throw unreadable(path, 'it is not a JSON object');
}

function unreadable(path: string, why: string): UnreadableCredentialsError {
  return new UnreadableCredentialsError(
    `${path} cannot be read: ${why}. Restore it. Or delete it and start again, which makes a new demo organization ` +
      'with new keys; the events of the earlier one stay.',
  );
}

/**
 * Writes the file that says how to reach this Gapless, with the demo org and its keys. Keys are made once, and again
 * when they are no longer valid.
 * @throws UnreadableCredentialsError
 */
export async function writeCredentials(
  dataDir: string,
  store: Store,
  reachable: Pick<Credentials, 'base_url' | 'kafka_brokers' | 'database_url'>,
): Promise<Credentials> {
  const path = join(dataDir, 'credentials.json');
  const earlier = await readEarlier(path);
  const keys = new ApiKeyRecords(store);
  const identifiers = new Identifiers(systemClock);
  const keep = async (key: string | undefined, orgId: OrgId | null, scopes: readonly ApiKeyScope[]) => {
    const presented = parseApiKey(key ?? '');
    if (presented !== undefined && key !== undefined) {
      const known = (await keys.credentials([presented.id])).get(presented.id);
      if (known?.revokedAt === null) return key;
    }
    return keys.create({
      id: identifiers.apiKeyId(),
      orgId,
      scopes,
      secret: randomBytes(API_KEY_SECRET_BYTES),
      createdAt: new Date(systemClock.now()),
      expiresAt: null,
    });
  };
  const orgId = parseOrgId(earlier.org_id) ?? (randomUUID() as OrgId);
  const credentials: Credentials = {
    base_url: reachable.base_url,
    org_id: orgId,
    api_key: await keep(earlier.api_key, orgId, ORG_KEY_SCOPES),
    service_key: await keep(earlier.service_key, null, SERVICE_SCOPES),
    kafka_brokers: reachable.kafka_brokers,
    database_url: reachable.database_url,
  };
  replace(path, credentials);
  return credentials;
}

/**
 * Writes the addresses of the servers to the file, for the command line. Everything else in it stays.
 * @throws UnreadableCredentialsError
 */
export async function writeAddresses(
  dataDir: string,
  addresses: Pick<Credentials, 'kafka_brokers' | 'database_url'>,
): Promise<void> {
  const path = join(dataDir, 'credentials.json');
  replace(path, { ...(await readEarlier(path)), ...addresses });
}

/** Replaces the file as a whole, so that a process that waits for it never reads half of it. */
function replace(path: string, credentials: Partial<Credentials>): void {
  replaceFile(path, `${JSON.stringify(credentials, null, 2)}\n`);
}
