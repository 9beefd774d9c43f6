import type { Ports } from '#libs/runtime';

const HTTPS_PORT = 443;

/** Whether the url's port is allowed. If plain http is allowed, so is port 80. */
export function isAllowedPort(url: URL, ports: Ports): boolean {
  // The URL parser leaves out the default port of a scheme.
  if (url.protocol === 'http:' && url.port === '') return true;
  const port = portOf(url);
  return ports.some(({ first, last }) => port >= first && port <= last);
}

/** Says that the url's port is refused, and which ports are allowed. */
export function refusalOfPort(url: URL, ports: Ports): string {
  const allowed = ports.map(({ first, last }) => (first === last ? String(first) : `${first} to ${last}`));
  return `port ${portOf(url)} is not allowed; use ${allowed.join(' or ')}`;
}

function portOf({ port }: URL): number {
  return port === '' ? HTTPS_PORT : Number(port);
}
