import { readFileSync } from 'node:fs';
import { isIPv4, isIPv6 } from 'node:net';
import type { RetrySchedule } from '#libs/domain';
import { parseDuration } from './duration.js';

/** These parsers read the texts of settings; they return `undefined` for invalid texts. */

/** Returns `undefined` for a text that the parser refuses with a RangeError. */
export function unlessRefused<Value>(parse: () => Value): Value | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Returns the path as it is if there is a file that this process can read. */
export function parseFile(path: string): string | undefined {
  try {
    readFileSync(path);
    return path;
  } catch {
    return undefined;
  }
}

export function parseBoolean(text: string): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

export function parseInteger(text: string, min: number, max: number): number | undefined {
  return /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined;
}

export function parseUrl(text: string, ...protocols: readonly string[]): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && protocols.includes(url.protocol) && isDecodable(url) ? text : undefined;
}

/** Passwords often hold a bare `%`. A client that decodes it would throw only when it connects. */
function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** Parses urls that are separated by commas. */
export function parseUrls(text: string, ...protocols: readonly string[]): readonly string[] | undefined {
  const urls = text.split(',').map((url) => parseUrl(url.trim(), ...protocols));
  return urls.every((url) => url !== undefined) ? urls : undefined;
}

export function parseSchedule(text: string): RetrySchedule | undefined {
  const delays = text.split(',').map(parseDuration);
  return delays.length <= 20 && delays.every((delay) => delay !== undefined) ? delays : undefined;
}

const HOST_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:,]+)):(\d{1,5})$/;

export function parseHostPorts(text: string): readonly string[] | undefined {
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.every((entry) => Number(HOST_PORT.exec(entry)?.[3]) <= 65_535) ? entries : undefined;
}

/** Parses addresses with ports. Names are refused, since nothing could look them up. */
export function parseAddressPorts(text: string): readonly string[] | undefined {
  const entries = parseHostPorts(text);
  const isAddress = (entry: string) => {
    const [, ipv6 = '', ipv4 = ''] = HOST_PORT.exec(entry) ?? [];
    return isIPv6(ipv6) || isIPv4(ipv4);
  };
  return entries?.every(isAddress) === true ? entries : undefined;
}

/** Parses `<n>/s`. */
export function parseRate(text: string): number | undefined {
  const perSecond = Number(/^(\d{1,7})\/s$/.exec(text)?.[1]);
  return perSecond > 0 ? perSecond : undefined;
}

const UNIT_BYTES: Readonly<Record<string, number>> = { KiB: 1_024, MiB: 1_024 ** 2, GiB: 1_024 ** 3 };

/**
 * Parses `512KiB`, `8MiB` or `1GiB` to bytes. Returns `undefined` for anything else, also for zero and for more than 64
 * GiB.
 */
export function parseSize(text: string): number | undefined {
  const match = /^(\d{1,6})(KiB|MiB|GiB)$/.exec(text.trim());
  const bytes = Number(match?.[1]) * (UNIT_BYTES[match?.[2] ?? ''] ?? 0);
  return bytes > 0 && bytes <= 64 * 1_024 ** 3 ? bytes : undefined;
}

/** Parses `<size>/s` to bytes per second. */
export function parseByteRate(text: string): number | undefined {
  const size = /^(.*)\/s$/.exec(text)?.[1];
  return size === undefined ? undefined : parseSize(size);
}

/** Also refuses an id that comes twice: one of its keys could not decrypt what it has encrypted. */
export function parseEncryptionKeys(text: string): string | undefined {
  const ids = new Set<string>();
  const valid = text.split(',').every((entry) => {
    const [id = '', key = '', ...rest] = entry.trim().split(':');
    const isNew = !ids.has(id);
    ids.add(id);
    return isNew && rest.length === 0 && /^[\w-]{1,32}$/.test(id) && Buffer.from(key, 'base64').length === 32;
  });
  return valid ? text : undefined;
}

const ORIGIN = /^https?:\/\/(?:\*\.)?[a-z\d](?:[a-z\d.-]*[a-z\d])?(?::\d{1,5})?$/i;

/** Parses origins as browsers compare them: without a path. The first label of the host may be `*`. */
export function parseOrigins(text: string): readonly string[] | undefined {
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every((origin) => ORIGIN.test(origin)) ? origins : undefined;
}

const DOMAIN_LABEL = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/;

/** Parses domains to lower case. */
export function parseDomains(text: string): readonly string[] | undefined {
  const domains = text.split(',').map((domain) => domain.trim().toLowerCase());
  const isDomain = (labels: readonly string[]) =>
    labels.length > 1 && labels.every((label) => DOMAIN_LABEL.test(label));
  return domains.every((domain) => isDomain(domain.split('.'))) ? domains : undefined;
}

/** The contrast that people need to read text (WCAG 2, level AA). */
const READABLE_CONTRAST = 4.5;

/** Returns the relative luminance of a colour (WCAG 2), from 0 for black to 1 for white. */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Parses `#rrggbb`. Returns `undefined` also for a colour on which white text cannot be read. */
export function parseAccent(text: string): string | undefined {
  if (!/^#[\da-f]{6}$/i.test(text)) return undefined;
  return 1.05 / (luminance(text) + 0.05) >= READABLE_CONTRAST ? text.toLowerCase() : undefined;
}
