import { describe, expect, it } from '@jest/globals';
import { emitRequests } from './emit-requests.js';

const event = 'ticket.created';

describe('what emit submits', () => {
  it('holds the payload as it was written', () => {
    const [request] = emitRequests({ event, dataJson: '{"n":1.0}', widgetId: undefined, count: 1 });
    expect(request).toBe('{"events":[{"event":"ticket.created","data":{"n":1.0}}]}');
  });

  it('names the widget', () => {
    const [request] = emitRequests({ event, dataJson: '{}', widgetId: 'w', count: 1 });
    expect(JSON.parse(request!)).toEqual({ events: [{ event, widget_id: 'w', data: {} }] });
  });

  it('is split into requests of at most 500 events', () => {
    const requests = emitRequests({ event, dataJson: '{}', widgetId: undefined, count: 1_001 });
    expect(requests.map((request) => (JSON.parse(request) as { events: unknown[] }).events.length)).toEqual([
      500, 500, 1,
    ]);
  });

  it('is split into requests of at most 4 MiB', () => {
    const dataJson = JSON.stringify({ text: 'é'.repeat(100_000) });
    const requests = emitRequests({ event, dataJson, widgetId: undefined, count: 100 });
    expect(requests.length).toBe(5);
    expect(Math.max(...requests.map((request) => Buffer.byteLength(request)))).toBeLessThanOrEqual(4 * 1024 * 1024);
    expect(requests.flatMap((request) => (JSON.parse(request) as { events: unknown[] }).events)).toHaveLength(100);
  });
});
