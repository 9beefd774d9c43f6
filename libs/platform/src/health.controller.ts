import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { HealthBoard, type PartHealth } from '#libs/runtime';

interface Readiness {
  readonly status: 'ready' | 'waiting';
  readonly parts: Readonly<Record<string, PartHealth>>;
}

/** Health endpoints for operators. */
@Controller('health')
export class HealthController {
  constructor(private readonly health: HealthBoard) {}

  /** 200 while the process answers. */
  @Get('live')
  live(): { readonly status: 'live' } {
    return { status: 'live' };
  }

  /** 200 when all parts are ready, otherwise 503. Both list what each part waits for. */
  @Get('ready')
  ready(@Res({ passthrough: true }) reply: FastifyReply): Readiness {
    const { isReady } = this.health;
    reply.status(isReady ? 200 : 503);
    return { status: isReady ? 'ready' : 'waiting', parts: this.health.parts() };
  }
}
