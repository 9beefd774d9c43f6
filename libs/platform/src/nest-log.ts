import type { LoggerService } from '@nestjs/common';
import type { Logger } from '#libs/runtime';

/** Writes Nest's own lines to the structured log. Lines during a start go to the debug level. */
export class NestLog implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: unknown): void {
    this.logger.debug({ nest: context }, String(message));
  }

  error(message: unknown, ...details: unknown[]): void {
    this.logger.error(
      { nest: details },
      message instanceof Error ? (message.stack ?? message.message) : String(message),
    );
  }

  warn(message: unknown, context?: unknown): void {
    this.logger.warn({ nest: context }, String(message));
  }

  debug(message: unknown, context?: unknown): void {
    this.logger.trace({ nest: context }, String(message));
  }

  verbose(message: unknown, context?: unknown): void {
    this.logger.trace({ nest: context }, String(message));
  }
}
