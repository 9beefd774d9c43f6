import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';

/** What the pages about live-chat alerts ask for. */
const SETTINGS = '/api/v1/internal/orgs/:orgId/live-chat-settings';

/** Tells whether this process answers the operations of live-chat alerts, which are another stage's. */
@Injectable()
export class LiveChatAlerts {
  constructor(private readonly host: HttpAdapterHost<FastifyAdapter>) {}

  get areServed(): boolean {
    return this.host.httpAdapter.getInstance().hasRoute({ method: 'GET', url: SETTINGS });
  }
}
