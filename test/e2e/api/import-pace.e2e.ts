import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { ApiSuite, posting } from './support/api-suite.js';

const INGEST = '/api/v1/internal/events';
/** All that a key may send at once. */
const REQUESTS = 8;
const EVENTS_PER_REQUEST = 500;

let suite: ApiSuite;

beforeAll(async () => {
  suite = await ApiSuite.start({ RATE_LIMIT: '100/s' });
});

afterAll(async () => {
  await suite.stop();
});

describe('an import at the default rate limit', () => {
  it('lets a small request pass, with the same key', async () => {
    const key = await suite.aKey(anOrgId());
    const submit = (events: number) => {
      const body = { events: Array.from({ length: events }, () => ({ event: 'ticket.created', data: {} })) };
      return suite.data<readonly { id: string }[]>({ key, ...posting(INGEST, body) }, 202);
    };
    // The code of the process is compiled by then.
    for (let n = 0; n < 20; n++) await submit(1);
    const imported = Array.from({ length: REQUESTS }, () => submit(EVENTS_PER_REQUEST));
    await Promise.race(imported);
    const [small] = await submit(1);
    await Promise.all(imported);
    const last = 20 + REQUESTS * EVENTS_PER_REQUEST + 1;
    await eventually(async () => {
      const { headers } = await suite.ask({ key, method: 'GET', path: '/api/v1/external/events?limit=1' });
      expect(headers['x-head-sequence']).toBe(String(last));
    });
    const path = `/api/v1/external/events?limit=1000&since=0`;
    const seqs = new Map<string, number>();
    for (let since = 0; since < last;) {
      const { text } = await suite.ask({ key, method: 'GET', path: path.replace('since=0', `since=${since}`) });
      for (const { id, seq } of (JSON.parse(text) as { data: { id: string; seq: number }[] }).data) {
        seqs.set(id, seq);
        since = seq;
      }
    }
    expect(seqs.size).toBe(last);
    expect(seqs.get(small?.id ?? '')).toBeLessThan(last - EVENTS_PER_REQUEST * 2);
  });
});
