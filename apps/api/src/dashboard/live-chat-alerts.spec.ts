import { describe, expect, it } from '@jest/globals';
import type { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import fastify from 'fastify';
import { LiveChatAlerts } from './live-chat-alerts.js';

function alertsOf(...routes: readonly string[]): LiveChatAlerts {
  const instance = fastify();
  for (const route of routes) instance.get(route, () => null);
  return new LiveChatAlerts({
    httpAdapter: { getInstance: () => instance },
  } as unknown as HttpAdapterHost<FastifyAdapter>);
}

describe('live-chat alerts', () => {
  it('are served where the process answers for their settings', () => {
    expect(alertsOf('/*', '/api/v1/internal/orgs/:orgId/live-chat-settings').areServed).toBe(true);
    expect(alertsOf('/*', '/api/v1/internal/orgs/:orgId').areServed).toBe(false);
  });
});
