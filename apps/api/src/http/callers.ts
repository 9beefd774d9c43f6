import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { isSecure } from '../auth/is-secure.js';
import { callerAddress, isProxy } from './caller-address.js';

/** Finds the caller of a request that came through the proxies of `TRUSTED_PROXIES`. */
@Injectable()
export class Callers {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  addressOf({ socket, headers }: Pick<FastifyRequest, 'socket' | 'headers'>): string {
    const header = headers['x-forwarded-for'];
    const forwardedFor = Array.isArray(header) ? header.join() : header;
    return callerAddress(socket.remoteAddress, forwardedFor, this.config.trustedProxies);
  }

  /** Whether the browser speaks https, to this process or to a proxy. */
  isSecure(request: FastifyRequest): boolean {
    return isSecure(request, {
      publicUrl: this.config.publicUrl,
      byProxy: isProxy(request.socket.remoteAddress, this.config.trustedProxies),
    });
  }
}
