import type { Logger } from '#libs/runtime';
import type { Trace } from '../engine/trace.js';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'fatal';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly process: string;
}

function textOf(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? value.message : value));
}

/** Returns a logger whose lines are in the trace, and are handed to the ledger. */
export function recordedLogger(process: string, trace: Trace, onLine: (line: LogLine) => void): Logger {
  const log = (level: LogLine['level']) => (fields: Readonly<Record<string, unknown>>, message: string) => {
    if (trace.isOn) trace.note(`${level} ${message} ${textOf(fields)}`, process);
    onLine({ level, message, fields, process });
  };
  const nothing = () => undefined;
  const logger = {
    trace: nothing,
    debug: nothing,
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    fatal: log('fatal'),
    child: () => logger,
  };
  return logger as unknown as Logger;
}
