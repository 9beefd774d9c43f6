import { request } from 'undici';
import type { Scenario } from '../bench.js';
import { ingestBody } from '../event-bodies.js';
import { figure } from '../report.js';
import { Resources } from '../resources.js';

const EVENTS = 100_000;
const REQUEST_EVENTS = 500;
/** Each holds half a megabyte on its way. */
const CONNECTIONS = 4;
const PAGE = 1_000;

interface PageJson {
  readonly data: readonly { readonly seq: number }[];
  readonly next_seq: number | null;
}

export const read: Scenario = {
  name: 'read',
  description: '100,000 events ingested 500 at a time, then read from the feed 1,000 at a time',
  limitMs: 300_000,
  async run(bench) {
    const gapless = await bench.gapless();
    const { base_url: baseUrl, api_key: apiKey } = gapless.credentials;
    const load = bench.load(gapless, CONNECTIONS);
    bench.tell(`ingesting ${EVENTS.toLocaleString('en-US')} events`);
    const storing = new Resources(gapless.pid);
    await load.burst(EVENTS / REQUEST_EVENTS, ingestBody('ticket.created', REQUEST_EVENTS));
    await bench.api(gapless).untilHead(EVENTS);
    const storedAt = performance.now();
    const stored = storing.figures({ count: EVENTS, of: 'events stored' });

    bench.tell('reading them');
    const reading = new Resources(gapless.pid);
    const began = performance.now();
    let bytes = 0;
    let seen = 0;
    for (let since: number | null = 0; since !== null;) {
      const answer = await request(`${baseUrl}/api/v1/external/events?limit=${PAGE}&since=${since}`, {
        headers: { 'x-api-key': apiKey },
        signal: bench.signal,
      });
      const text = Buffer.from(await answer.body.arrayBuffer());
      if (answer.statusCode !== 200) throw new Error(`the feed was answered ${answer.statusCode}: ${text.toString()}`);
      const page = JSON.parse(text.toString()) as PageJson;
      for (const { seq } of page.data) if (seq !== ++seen) throw new Error(`seq ${seq} stands where ${seen} belongs`);
      bytes += text.length;
      since = page.next_seq;
    }
    const seconds = (performance.now() - began) / 1_000;
    if (seen !== EVENTS) throw new Error(`${seen} of ${EVENTS} events were read`);
    return [
      figure('ingested', (EVENTS * 1_000) / (load.lastAcknowledgedAt - load.firstSentAt), 'events/s'),
      figure('in the feed', (EVENTS * 1_000) / (storedAt - load.firstSentAt), 'events/s'),
      ...stored,
      figure('read', seen / seconds, 'events/s'),
      figure('read', bytes / 1e6 / seconds, 'MB/s'),
      ...reading.figures({ count: EVENTS, of: 'events read' }),
    ];
  },
};
