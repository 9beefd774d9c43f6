/** Returns where a database is, without the account: `host:port/database`. The same database has the same name. */
export function databaseName(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  const host = url.searchParams.get('host') ?? url.hostname;
  const port = url.searchParams.get('port') ?? (url.port === '' ? '5432' : url.port);
  const database = url.pathname.slice(1) || decodeURIComponent(url.username);
  return `${host.toLowerCase()}:${port}/${database}`;
}
