import { parseOrgId, problemOfShownText, type OrgId } from '#libs/domain';
import { API_KEY_SCOPES, isApiKeyScope, isOrgKeyScope, isServiceKeyScope, type ApiKeyScope } from '#libs/postgres';
import { parseDuration } from '#libs/runtime';
import { CliError } from './cli-error.js';

/** The flags of `keys create`, as commander hands them over. */
export interface CreateKeyFlags {
  readonly org?: string;
  readonly service?: boolean;
  readonly scopes: string;
  readonly expires?: string;
  readonly name?: string;
}

/** The options of `keys create`. */
export interface NewKeyRequest {
  /** `null` for a service key. */
  readonly orgId: OrgId | null;
  readonly name: string | null;
  readonly scopes: readonly ApiKeyScope[];
  readonly expiresAt: Date | null;
}

/** @throws CliError that names the invalid flag */
export function readNewKeyRequest(flags: CreateKeyFlags, nowMs: number): NewKeyRequest {
  if (flags.service === true && flags.org !== undefined) {
    throw new CliError('--org and --service exclude each other: a service key has no org');
  }
  const orgId = flags.org === undefined ? null : parseOrgId(flags.org);
  if (orgId === undefined) throw new CliError(`--org ${String(flags.org)}: expected a UUID`);
  return {
    orgId,
    name: readName(flags.name),
    scopes: readScopes(flags.scopes, orgId),
    expiresAt: readExpiry(flags.expires, nowMs),
  };
}

function readName(text: string | undefined): string | null {
  if (text === undefined) return null;
  // A control character could write over the terminal on which the names are listed.
  if (text.trim() === '' || !/^[^\p{Control}\p{Surrogate}]{1,120}$/u.test(text)) {
    throw new CliError('--name: expected 1 to 120 characters, without control characters');
  }
  const problem = problemOfShownText(text);
  if (problem !== null) throw new CliError(`--name: it ${problem}`);
  return text;
}

function readScopes(text: string, orgId: OrgId | null): readonly ApiKeyScope[] {
  const names = new Set(text.split(',').map((name) => name.trim()));
  return [...names].map((name) => {
    if (!isApiKeyScope(name)) {
      throw new CliError(
        `--scopes: ${name === '' ? 'a scope is empty' : `unknown scope ${name}`}; use ${API_KEY_SCOPES.join(', ')}`,
      );
    }
    if (orgId === null && !isServiceKeyScope(name)) {
      throw new CliError(`--scopes: a service key cannot have ${name}; set --org`);
    }
    if (orgId !== null && !isOrgKeyScope(name)) {
      throw new CliError(`--scopes: only a service key can have ${name}; leave out --org`);
    }
    return name;
  });
}

function readExpiry(text: string | undefined, nowMs: number): Date | null {
  if (text === undefined) return null;
  const afterMs = parseDuration(text);
  const expiresAt = new Date(nowMs + (afterMs ?? Number.NaN));
  if (Number.isNaN(expiresAt.getTime()))
    throw new CliError(`--expires ${text}: expected a duration such as 12h or 90d`);
  return expiresAt;
}
