import { createRequire } from 'node:module';
import { pino, type DestinationStream, type Logger } from 'pino';
import { describeError } from './describe-error.js';

export type { Logger } from 'pino';

/** Members that must not be logged even by mistake, at the top of a line or one level below. */
const UNTOLD = [
  'secret',
  'api_key',
  'password',
  'authorization',
  'x-api-key',
  'x-service-signature',
  'x-webhook-signature',
  'webhook-signature',
  'body',
  'data',
  'envelope',
  'database_url',
];

/**
 * Structured lines; never bodies or secrets.
 * @param output where they go: by default JSON on standard output, and for a person at a terminal readable text
 */
export function createLogger(
  level: string,
  name: string,
  output = level === 'silent' ? undefined : terminal(),
): Logger {
  const options = {
    name,
    level,
    base: { app: name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
    redact: UNTOLD.flatMap((member) => [`["${member}"]`, `*["${member}"]`]),
  };
  return output === undefined ? pino(options) : pino(options, output);
}

/** Loaded only for a person: nobody else needs it. */
function terminal(): DestinationStream | undefined {
  if (!process.stdout.isTTY) return undefined;
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty');
  return pretty({ translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname', sync: true });
}
