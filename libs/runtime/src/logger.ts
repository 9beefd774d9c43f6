import { createRequire } from 'node:module';
import { pino, type DestinationStream, type Logger } from 'pino';
import { describeError } from './describe-error.js';

export type { Logger } from 'pino';

/** Members that are removed from log lines, at the top level or one below, even if logged by mistake. */
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
 * Writes structured lines, without bodies or secrets.
 * @param output the destination; by default JSON on standard output, or readable text on a terminal
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

/** Loads the formatter on demand, because only terminals need it. */
function terminal(): DestinationStream | undefined {
  if (!process.stdout.isTTY) return undefined;
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty');
  return pretty({ translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname', sync: true });
}
