import type { RetrySchedule } from '#libs/domain';
import { parseDuration } from './duration.js';

/** These parsers read the texts of settings; they return `undefined` for invalid texts. */

export function parseBoolean(text: string): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

export function parseInteger(text: string, min: number, max: number): number | undefined {
  return /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined;
}

export function parseUrl(text: string, ...protocols: readonly string[]): string | undefined {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol) ? text : undefined;
}

export function parseSchedule(text: string): RetrySchedule | undefined {
  const delays = text.split(',').map(parseDuration);
  return delays.length <= 20 && delays.every((delay) => delay !== undefined) ? delays : undefined;
}

export function parseHostPorts(text: string): readonly string[] | undefined {
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.every((entry) => /^(\[[0-9a-fA-F:.]+\]|[^\s:,]+):\d{1,5}$/.test(entry)) ? entries : undefined;
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

export function parseEncryptionKeys(text: string): string | undefined {
  const valid = text.split(',').every((entry) => {
    const [id, key, ...rest] = entry.trim().split(':');
    return rest.length === 0 && /^[\w-]{1,32}$/.test(id ?? '') && Buffer.from(key ?? '', 'base64').length === 32;
  });
  return valid ? text : undefined;
}
