import { describe, expect, it } from '@jest/globals';
import { emitRequests } from './emit-requests.js';

const event = 'ticket.created';
const newId = () => 'evt_1';

describe('what emit submits', () => {
  it('holds the payload as it was written', () => {
    const requests = emitRequests({ event, dataJson: '{"n":1.0}', widgetId: undefined, count: 1, newId });
    const json = '{"id":"evt_1","event":"ticket.created","data":{"n":1.0}}';
    expect([...requests]).toEqual([[{ id: 'evt_1', json }]]);
  });

  it('names the widget', () => {
    const [request] = emitRequests({ event, dataJson: '{}', widgetId: 'w', count: 1, newId });
    expect(JSON.parse(request![0]!.json)).toEqual({ id: 'evt_1', event, widget_id: 'w', data: {} });
  });

  it('is split into requests of at most 500 events', () => {
    const requests = emitRequests({ event, dataJson: '{}', widgetId: undefined, count: 1_001, newId });
    expect([...requests].map((request) => request.length)).toEqual([500, 500, 1]);
  });

  it('is split into requests of at most 4 MiB', () => {
    const dataJson = JSON.stringify({ text: 'é'.repeat(100_000) });
    const requests = [...emitRequests({ event, dataJson, widgetId: undefined, count: 100, newId })];
    expect(requests.length).toBe(5);
    const bodies = requests.map((request) => `{"events":[${request.map(({ json }) => json).join(',')}]}`);
    expect(Math.max(...bodies.map((body) => Buffer.byteLength(body)))).toBeLessThanOrEqual(4 * 1024 * 1024);
    expect(requests.flat()).toHaveLength(100);
  });
});
