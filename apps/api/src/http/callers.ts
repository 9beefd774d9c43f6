import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { parseNetworks, type Network } from '#libs/destinations';
import { isSecure } from '../auth/is-secure.js';
import { callerAddress, isProxy } from './caller-address.js';

/** Finds the caller of a request that came through the proxies of `TRUSTED_PROXIES`. */
@Injectable()
export class Callers {
  readonly #proxies: readonly Network[];

  /** @throws RangeError that names the setting, for an entry that is not a network */
  constructor(@Inject(CONFIG) private readonly config: Config) {
    try {
      this.#proxies = parseNetworks(config.trustedProxies);
    } catch (error) {
      throw new RangeError(`TRUSTED_PROXIES: ${(error as Error).message}`, { cause: error });
    }
  }

  addressOf({ socket, headers }: Pick<FastifyRequest, 'socket' | 'headers'>): string {
    const header = headers['x-forwarded-for'];
    return callerAddress(socket.remoteAddress, Array.isArray(header) ? header.join() : header, this.#proxies);
  }

  /** Whether the browser speaks https, to this process or to a proxy. */
  isSecure(request: FastifyRequest): boolean {
    return isSecure(request, {
      publicUrl: this.config.publicUrl,
      byProxy: isProxy(request.socket.remoteAddress, this.#proxies),
    });
  }
}
