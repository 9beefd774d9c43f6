import type { Ports } from '#libs/runtime';

const HTTPS_PORT = 443;

/** Whether the url's port is allowed. If plain http is allowed, so is port 80. */
export function isAllowedPort(url: URL, ports: Ports): boolean {
  // The URL parser leaves out the default port of a scheme.
  if (url.protocol === 'http:' && url.port === '') return true;
  const port = url.port === '' ? HTTPS_PORT : Number(url.port);
  return ports.some(({ first, last }) => port >= first && port <= last);
}
