/** What an entry of the audit log says about its change. */
export type AuditDetails = Readonly<Record<string, unknown>>;

/** The members that are urls. */
const URLS: readonly string[] = ['url', 'token_url'];

/**
 * Returns details without secrets: urls keep their host and path, because receivers expect tokens in the user info and
 * in the query.
 */
export function withoutTokens(details: AuditDetails): AuditDetails {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      URLS.includes(name) && typeof value === 'string' ? withoutQuery(value) : value,
    ]),
  );
}

function withoutQuery(url: string): string {
  return url.replace(/\/\/[^/?#]*@/, '//').replace(/\?.*$/s, '?…');
}

/** Returns the name that the api gives a member: `max_per_second` of `maxPerSecond`. */
export function apiName(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns an object with the names of the api. */
export function withApiNames(members: object): AuditDetails {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [apiName(name), value as unknown]));
}
