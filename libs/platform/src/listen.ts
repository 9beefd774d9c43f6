import type { NestFastifyApplication } from '@nestjs/platform-fastify';

/** Where a process answers HTTP. */
export interface HttpPlace {
  readonly host: string;
  readonly port: number;
  /** Whether any other port does as well if somebody has this one. */
  readonly mayMove: boolean;
}

/** Listens there; on a free port if that one is taken, or was taken a moment ago, and the process may move. */
export async function listen(app: NestFastifyApplication, { host, port, mayMove }: HttpPlace): Promise<void> {
  try {
    await app.listen(port, host);
  } catch (error) {
    if (!mayMove || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    await app.listen(0, host);
  }
}
