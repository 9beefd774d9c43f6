import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ListenError } from '#libs/runtime';

/** The address where a process serves HTTP. */
export interface HttpPlace {
  readonly host: string;
  readonly port: number;
  /** Whether another free port may be used if this one is taken. */
  readonly mayMove: boolean;
}

/**
 * Listens on the port. If it is taken and `mayMove` is set, listens on any free port.
 * @throws ListenError
 */
export async function listen(app: NestFastifyApplication, { host, port, mayMove }: HttpPlace): Promise<void> {
  try {
    await app.listen(port, host);
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    if (!mayMove || failure.code !== 'EADDRINUSE') throw new ListenError(host, port, failure);
    await app.listen(0, host);
  }
}
