import { describe, expect, it } from '@jest/globals';
import type { AttemptOutcome } from '../delivery/index.js';
import { decideAfterCallback, webhookBody } from './webhook-body.js';

describe('the body of a delivery', () => {
  it('has the data as it was sent, and the position', () => {
    const envelope =
      '{"id":"evt_1","seq":7,"event":"ticket.created","occurred_at":"2026-01-01T00:00:00.000Z","widget_id":null,' +
      '"data":{ "n": 1.0, "text":"\\"data\\":{}" }}';
    const body = webhookBody(Buffer.from(envelope), 'po"sition').toString();
    expect(body).toContain('"data":{ "n": 1.0, "text":"\\"data\\":{}" }');
    expect(JSON.parse(body)).toEqual({
      eventId: 'evt_1',
      name: 'ticket.created',
      timestamp: '2026-01-01T00:00:00.000Z',
      data: { n: 1, text: '"data":{}' },
      cursor: 'po"sition',
      _meta: { 'gapless/seq': 7, 'gapless/widget_id': null, 'gapless/untrusted': true },
    });
  });
});

describe('after an attempt', () => {
  const MINUTE = 60_000;
  const DEFAULT_SCHEDULE = [10_000, MINUTE, 5 * MINUTE, 15 * MINUTE, 60 * MINUTE];

  function outcome(code: number | null): AttemptOutcome {
    return {
      startedAtMs: 0,
      durationMs: 10,
      response: code === null ? null : { code, excerpt: '' },
      error: code === 200 ? null : { kind: 'http_status', detail: '' },
      attributes: {},
    };
  }

  const kinds = (schedule: readonly number[], code: number | null) =>
    [1, 2, 3, 4, 5, 6].map((attempt) => decideAfterCallback(attempt, outcome(code), schedule).kind);

  it('retries for at most a quarter of an hour', () => {
    expect(kinds(DEFAULT_SCHEDULE, 500)).toEqual(['retry', 'retry', 'retry', 'exhausted', 'exhausted', 'exhausted']);
    expect(kinds([16 * MINUTE], null)[0]).toBe('exhausted');
  });

  it('makes at most five attempts', () => {
    expect(kinds([1, 1, 1, 1, 1, 1], 500)).toEqual(['retry', 'retry', 'retry', 'retry', 'exhausted', 'exhausted']);
  });

  it.each([410, 413])('does not retry after %d, and disables nothing', (code) => {
    expect(decideAfterCallback(1, outcome(code), DEFAULT_SCHEDULE)).toEqual({ kind: 'exhausted' });
  });

  it('is done when the receiver accepts', () => {
    expect(decideAfterCallback(1, outcome(200), DEFAULT_SCHEDULE)).toEqual({ kind: 'delivered' });
  });
});
