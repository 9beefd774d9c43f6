import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { HealthBoard, type PartHealth } from '#libs/runtime';

interface Readiness {
  readonly status: 'ready' | 'waiting';
  readonly parts: Readonly<Record<string, PartHealth>>;
}

/** For operators. */
@Controller('health')
export class HealthController {
  constructor(private readonly health: HealthBoard) {}

  /** 200 for as long as the process answers. */
  @Get('live')
  live(): { readonly status: 'live' } {
    return { status: 'live' };
  }

  /** 200 when all parts are ready, else 503; what each part waits for either way. */
  @Get('ready')
  ready(@Res({ passthrough: true }) reply: FastifyReply): Readiness {
    const { isReady } = this.health;
    reply.status(isReady ? 200 : 503);
    return { status: isReady ? 'ready' : 'waiting', parts: this.health.parts() };
  }
}
