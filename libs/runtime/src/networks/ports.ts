/** Ports from `first` to `last`, both included. */
interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** The ports that endpoints may use: `ALLOWED_PORTS`. */
export type Ports = readonly PortRange[];

const ENTRY = /^(\d{1,5})(?:-(\d{1,5}))?$/;

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
