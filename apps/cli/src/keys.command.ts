import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { parseApiKeyId, parseOrgId, type Clock } from '#libs/domain';
import { API_KEY_SCOPES, API_KEY_SECRET_BYTES, ApiKeyRecords, type ApiKeyRecord, type Store } from '#libs/postgres';
import { Identifiers } from '#libs/runtime';
import { CliError } from './cli-error.js';
import { readNewKeyRequest, type CreateKeyFlags } from './new-key-request.js';

/** The environment of the commands. */
export interface CliContext {
  readonly clock: Clock;
  readonly withStore: <T>(act: (store: Store) => Promise<T>) => Promise<T>;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
}

/** `keys create|list|revoke` (contract 2.3, 11). */
export function keysCommand(context: CliContext): Command {
  const keys = new Command('keys').description('create, list and revoke API keys');
  keys
    .command('create')
    .description('create an API key and print it, only this once')
    .option('--org <uuid>', 'the organization of the key; if missing, the command creates a service key')
    .option('--service', 'create a service key, which belongs to no organization')
    .requiredOption('--scopes <a,b>', `required, comma-separated: ${API_KEY_SCOPES.join(', ')}`)
    .option('--name <text>', 'what the key is for, at most 120 characters')
    .option('--expires <duration>', 'how long the key is valid, such as 90d; default: forever')
    .option('--json', 'print JSON')
    .action((flags: CreateKeyFlags & JsonFlag) => createKey(context, flags));
  keys
    .command('list')
    .description('list API keys, oldest first, without their secrets')
    .option('--org <uuid>', 'only keys of this organization')
    .option('--service', 'only service keys')
    .option('--json', 'print JSON')
    .action((flags: ListFlags & JsonFlag) => listKeys(context, flags));
  keys
    .command('revoke')
    .description('revoke an API key, from the next request on')
    .argument('<id>', 'the start of the key: gk_ and 26 characters')
    .option('--json', 'print JSON')
    .action((id: string, flags: JsonFlag) => revokeKey(context, id, flags));
  return keys;
}

interface JsonFlag {
  readonly json?: boolean;
}

interface ListFlags {
  readonly org?: string;
  readonly service?: boolean;
}

async function createKey(context: CliContext, flags: CreateKeyFlags & JsonFlag): Promise<void> {
  const nowMs = context.clock.now();
  const request = readNewKeyRequest(flags, nowMs);
  const id = new Identifiers(context.clock).apiKeyId();
  const key = await context.withStore((store) =>
    new ApiKeyRecords(store).create({
      id,
      ...request,
      secret: randomBytes(API_KEY_SECRET_BYTES),
      createdAt: new Date(nowMs),
    }),
  );
  const { orgId, name, scopes, expiresAt } = request;
  if (flags.json === true) {
    context.print(JSON.stringify({ id, key, org_id: orgId, name, scopes, expires_at: expiresAt }));
    return;
  }
  context.print(key);
  const named = name === null ? '' : `${name}; `;
  context.print(
    `${named}${orgId === null ? 'service key' : `org ${orgId}`}; ${scopes.join(', ')}; ${expiryOf(expiresAt)}`,
  );
  context.print('Store it now: it is not shown again.');
}

async function listKeys(context: CliContext, flags: ListFlags & JsonFlag): Promise<void> {
  if (flags.service === true && flags.org !== undefined) throw new CliError('--org and --service exclude each other');
  const orgId = flags.org === undefined ? undefined : parseOrgId(flags.org);
  if (flags.org !== undefined && orgId === undefined) throw new CliError(`--org ${flags.org}: expected a UUID`);
  const found = await context.withStore((store) =>
    new ApiKeyRecords(store).list(flags.service === true ? null : orgId),
  );
  if (flags.json === true) context.print(JSON.stringify(found.map(keyJson)));
  else for (const key of found) context.print(keyLine(key));
}

async function revokeKey(context: CliContext, idText: string, flags: JsonFlag): Promise<void> {
  const id = parseApiKeyId(idText);
  if (id === undefined) throw new CliError(`${idText.slice(0, 29)}: expected the id of a key, gk_ and 26 characters`);
  const revoked = await context.withStore((store) =>
    new ApiKeyRecords(store).revoke(id, new Date(context.clock.now())),
  );
  if (!revoked) throw new CliError(`there is no key ${id}`);
  context.print(flags.json === true ? JSON.stringify({ id, revoked: true }) : `${id} is revoked`);
}

function keyJson(key: ApiKeyRecord) {
  return {
    id: key.id,
    org_id: key.orgId,
    name: key.name,
    scopes: key.scopes,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    revoked_at: key.revokedAt,
    last_used_at: key.lastUsedAt,
  };
}

function keyLine(key: ApiKeyRecord): string {
  const state = key.revokedAt === null ? expiryOf(key.expiresAt) : `revoked ${key.revokedAt.toISOString()}`;
  const used = key.lastUsedAt === null ? 'never used' : `used ${key.lastUsedAt.toISOString()}`;
  return [
    key.id,
    key.orgId ?? 'service',
    key.scopes.join(','),
    state,
    used,
    (key.name ?? '').replaceAll(/\p{Control}/gu, ' '),
  ].join('\t');
}

function expiryOf(expiresAt: Date | null): string {
  return expiresAt === null ? 'does not expire' : `expires ${expiresAt.toISOString()}`;
}
