import { pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/** Structured lines on standard output, one per outcome; never bodies or secrets. */
export function createLogger(level: string, name: string): Logger {
  return pino({
    name,
    level,
    base: { app: name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: ['*.secret', '*.api_key', '*.password', '*.authorization', '*["x-api-key"]'],
  });
}
