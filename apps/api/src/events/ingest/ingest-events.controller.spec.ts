import { setImmediate } from 'node:timers/promises';
import { expect, it, jest } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { IngestEventsController } from './ingest-events.controller.js';

it('keeps the body until its events are written, since their caller may be gone before', async () => {
  let end: () => void = () => undefined;
  const written = new Promise<void>((resolve) => (end = resolve));
  const heldBody = { grow: jest.fn(), keep: jest.fn(), release: jest.fn() };
  const controller = new IngestEventsController(
    { check: () => Promise.resolve(new Map()) } as never,
    { append: () => written } as never,
    { eventId: () => 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG' } as never,
    {} as never,
    {
      async *inTurn<Event>(_key: string, events: readonly Event[]) {
        yield await Promise.resolve(events);
      },
    } as never,
    { once: (_request: unknown, _reply: unknown, act: (seed: null) => unknown) => act(null) } as never,
    { trace: (_name: string, _request: unknown, act: (parent: string) => unknown) => act('') } as never,
    { inbox: 'inbox' } as never,
    { now: () => Date.parse('2026-01-01') },
  );
  const event = {
    event: 'ticket.created',
    data: {},
  };
  const request = {
    apiKey: { id: 'gk_1', quota: 'gk_1', orgId: '0c9fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001', scopes: [], expiresAt: null },
    body: Buffer.from(JSON.stringify({ events: [event] })),
    heldBody,
  } as unknown as FastifyRequest;
  const answer = controller.ingest(request, {} as FastifyReply);
  await setImmediate();
  expect([heldBody.keep.mock.calls.length, heldBody.release.mock.calls.length]).toEqual([1, 0]);
  end();
  await answer;
  expect(heldBody.release).toHaveBeenCalledTimes(1);
});
