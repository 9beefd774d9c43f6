import type { Bench } from '../bench.js';
import { Deliveries, type DeliveriesOptions } from '../deliveries.js';
import { ALL_ELSE } from '../figures/disturbance.js';
import { figure, figuresOf, type Figure } from '../figures/figure.js';
import { Histogram } from '../figures/histogram.js';
import type { Scenario } from '../scenario.js';
import { fillFeed } from '../system/fill-feed.js';
import type { GaplessProcess } from '../system/gapless-process.js';
import { createOrgs } from '../system/org-keys.js';

const EVENTS = 10_000;
const ORGS = [1, 50, 1_000];
const ENDPOINTS = [1, 10, 100];
/** Of an event, with how many events show it. */
const PAYLOADS = [
  { kilobytes: 1, events: EVENTS },
  { kilobytes: 10, events: 5_000 },
  { kilobytes: 100, events: 1_000 },
];
const HISTORIES = [1_000_000, 10_000_000];
const ENVELOPE_BYTES = 1_150;
const PAGE = 1_000;
const PAGES = 50;
const WARM_UP_PAGES = 10;

/** Of the figures of a burst, those by which growth shows. */
const SHOWN = new Map([
  ['delivered', 'delivered'],
  ['CPU per 1,000 deliveries: all servers', 'CPU for 1,000'],
  ['publish to receipt, p50', 'receipt p50'],
  ['memory, Node stages: peak', 'stages, peak'],
  [ALL_ELSE, ALL_ELSE],
]);

async function burst(
  bench: Bench,
  gapless: GaplessProcess,
  row: string,
  options: DeliveriesOptions,
  events = EVENTS,
): Promise<readonly Figure[]> {
  bench.print(row);
  const deliveries = await Deliveries.prepare(bench, options, gapless);
  const { figures } = await deliveries.burst({ events, eventsEachRequest: 1 });
  const shown = figures.flatMap((one) => {
    const name = SHOWN.get(one.name);
    return name === undefined ? [] : [{ ...one, name }];
  });
  return figuresOf(row, shown);
}

/** How long pages take at the oldest and at the newest end of a feed that goes up to `head`. */
async function pages(bench: Bench, gapless: GaplessProcess, apiKey: string, head: number): Promise<readonly Figure[]> {
  const api = bench.api(gapless, apiKey);
  const p50 = async (since: number) => {
    const took = new Histogram();
    for (let read = -WARM_UP_PAGES; read < PAGES; read++) {
      const began = performance.now();
      await api.readPage(since, PAGE);
      if (read >= 0) took.record(performance.now() - began);
    }
    return took.quantile(0.5);
  };
  return [figure('oldest page p50', await p50(0), 'ms'), figure('newest page p50', await p50(head - PAGE), 'ms')];
}

async function history(bench: Bench, gapless: GaplessProcess, events: number): Promise<readonly Figure[]> {
  const { database_url: databaseUrl } = gapless.credentials;
  const row = `${events.toLocaleString('en-US')} events in the feed`;
  bench.print(`making ${row}`);
  const [org] = await createOrgs(databaseUrl, 1);
  if (org === undefined) throw new Error('there is no org');
  await fillFeed(databaseUrl, { orgId: org.orgId, events, envelopeBytes: ENVELOPE_BYTES, nowMs: Date.now() });
  const read = figuresOf(row, await pages(bench, gapless, org.apiKey, events));
  return [...(await burst(bench, gapless, row, { orgs: 1, endpointsEach: 1 })), ...read];
}

/** The bursts, or whatever else shows how cost grows with one thing. */
type Dimension = (bench: Bench, gapless: GaplessProcess) => Promise<readonly Figure[]>;

const withOrgs: Dimension = async (bench, gapless) => {
  const figures: Figure[] = [];
  for (const orgs of ORGS) {
    const row = orgs === 1 ? '1 org' : `${orgs.toLocaleString('en-US')} orgs`;
    figures.push(...(await burst(bench, gapless, row, { orgs, endpointsEach: 1 })));
  }
  return figures;
};

const withEndpoints: Dimension = async (bench, gapless) => {
  const figures: Figure[] = [];
  for (const endpoints of ENDPOINTS) {
    const row = endpoints === 1 ? '1 endpoint registered' : `${endpoints} endpoints registered`;
    const options = { orgs: 1, endpointsEach: 1, otherEndpointsEach: endpoints - 1 };
    figures.push(...(await burst(bench, gapless, row, options)));
  }
  return figures;
};

const withPayload: Dimension = async (bench, gapless) => {
  const figures: Figure[] = [];
  for (const { kilobytes, events } of PAYLOADS) {
    const options = { orgs: 1, endpointsEach: 1, eventBytes: kilobytes * 1_000 };
    figures.push(...(await burst(bench, gapless, `events of ${kilobytes} KB`, options, events)));
  }
  return figures;
};

const withHistory: Dimension = async (bench, gapless) => {
  const figures: Figure[] = [];
  for (const events of HISTORIES) figures.push(...(await history(bench, gapless, events)));
  return figures;
};

function growthWith(name: string, description: string, dimensions: readonly Dimension[]): Scenario {
  return {
    name,
    description,
    limitMs: 3_600_000,
    layout: 'rows',
    async run(bench) {
      const environment = { MAX_ENDPOINTS_PER_ORG: String(Math.max(...ENDPOINTS)) };
      const gapless = await bench.ownGapless({ environment });
      const figures: Figure[] = [];
      for (const dimension of dimensions) figures.push(...(await dimension(bench, gapless)));
      return figures;
    },
  };
}

export const growth: readonly Scenario[] = [
  growthWith('growth', 'how cost grows: all of the following', [withOrgs, withEndpoints, withPayload, withHistory]),
  growthWith('growth-orgs', 'bursts over 1, 50 and 1,000 orgs', [withOrgs]),
  growthWith('growth-endpoints', 'bursts with 1, 10 and 100 endpoints registered in the org', [withEndpoints]),
  growthWith('growth-payload', 'bursts of events of 1, 10 and 100 KB', [withPayload]),
  growthWith('growth-history', 'pages and bursts with 1,000,000 and 10,000,000 events in the feed', [withHistory]),
];
