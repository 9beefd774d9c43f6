import { Controller, Get, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { keyOf } from '../auth/authenticated-key.js';
import { sessionOf } from '../auth/dashboard-session.js';
import { AnyKey } from '../auth/require-scope.js';
import { LiveChatAlerts } from './live-chat-alerts.js';
import { sessionJson } from './session.presenter.js';

/** `GET /dashboard/session`: who is signed in. */
@Controller('api/v1/dashboard/session')
export class ReadSessionController {
  constructor(private readonly alerts: LiveChatAlerts) {}

  @Get()
  @AnyKey()
  read(@Req() request: FastifyRequest) {
    return { data: sessionJson(keyOf(request), sessionOf(request), this.alerts.areServed) };
  }
}
