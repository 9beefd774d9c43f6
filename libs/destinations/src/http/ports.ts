/** Ports from `first` to `last`, both included. */
interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** The ports that endpoints may use: `ALLOWED_PORTS`. */
export type Ports = readonly PortRange[];

const ENTRY = /^(\d{1,5})(?:-(\d{1,5}))?$/;
const HTTPS_PORT = 443;

/**
 * Reads `443, 1024-65535`.
 * @throws RangeError that names the entry that is not a port or a range of ports
 */
export function parsePorts(text: string): Ports {
  return text.split(',').map((entry) => {
    const [, from, to] = ENTRY.exec(entry.trim()) ?? [];
    const first = Number(from);
    const last = Number(to ?? from);
    if (from === undefined || first < 1 || last > 65_535 || first > last) {
      throw new RangeError(`not a port such as 443 or a range such as 1024-65535: "${entry.trim()}"`);
    }
    return { first, last };
  });
}

/** Whether the url's port is allowed. If plain http is allowed, so is port 80. */
export function isAllowedPort(url: URL, ports: Ports): boolean {
  // The URL parser leaves out the default port of a scheme.
  if (url.protocol === 'http:' && url.port === '') return true;
  const port = url.port === '' ? HTTPS_PORT : Number(url.port);
  return ports.some(({ first, last }) => port >= first && port <= last);
}
