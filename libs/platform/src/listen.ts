import type { NestFastifyApplication } from '@nestjs/platform-fastify';

/** The address where a process serves HTTP. */
export interface HttpPlace {
  readonly host: string;
  readonly port: number;
  /** Whether another free port may be used if this one is taken. */
  readonly mayMove: boolean;
}

/** Listens on the port. If it is taken and `mayMove` is set, listens on any free port. */
export async function listen(app: NestFastifyApplication, { host, port, mayMove }: HttpPlace): Promise<void> {
  try {
    await app.listen(port, host);
  } catch (error) {
    if (!mayMove || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    await app.listen(0, host);
  }
}
