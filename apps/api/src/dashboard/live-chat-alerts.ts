import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';

/** An operation that only processes with live-chat alerts serve. */
const SETTINGS = '/api/v1/internal/orgs/:orgId/live-chat-settings';

/** Whether this process serves the operations of live-chat alerts, which belong to another stage. */
@Injectable()
export class LiveChatAlerts {
  constructor(private readonly host: HttpAdapterHost<FastifyAdapter>) {}

  get areServed(): boolean {
    return this.host.httpAdapter.getInstance().hasRoute({ method: 'GET', url: SETTINGS });
  }
}
