import type { RetrySchedule } from '#libs/domain';
import { parseDuration } from './duration.js';

/** How the texts of settings are read; `undefined` for what is not a value. */

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

/** `<n>/s`. */
export function parseRate(text: string): number | undefined {
  const perSecond = Number(/^(\d{1,7})\/s$/.exec(text)?.[1]);
  return perSecond > 0 ? perSecond : undefined;
}

export function parseEncryptionKeys(text: string): string | undefined {
  const valid = text.split(',').every((entry) => {
    const [id, key, ...rest] = entry.trim().split(':');
    return rest.length === 0 && /^[\w-]{1,32}$/.test(id ?? '') && Buffer.from(key ?? '', 'base64').length === 32;
  });
  return valid ? text : undefined;
}
