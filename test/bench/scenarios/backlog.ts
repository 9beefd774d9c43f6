import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { stopLeftovers } from '#libs/embedded-stack';
import type { Credentials } from '#libs/local-installation';
import type { Bench } from '../bench.js';
import { BENCH_EVENT } from '../deliveries.js';
import { figure, latencyFigures } from '../figures/figure.js';
import { Histogram } from '../figures/histogram.js';
import type { Scenario } from '../scenario.js';
import { GaplessApi } from '../system/gapless-api.js';
import { newDataDir } from '../system/gapless-process.js';
import type { UndispatchedOperations } from '../system/undispatched-main.js';
import { ForkedProcess } from '../traffic/forked-process.js';
import type { InboxGroup } from '../traffic/receiver.js';

const EVENTS = 200_000;
const REQUEST_EVENTS = 500;
/** Each holds half a megabyte on its way. */
const CONNECTIONS = 4;
const PAGE = 100;
const READ_EVERY_MS = 100;

/** Makes a directory a Gapless with an endpoint. */
async function prepare(bench: Bench, dataDir: string, inbox: InboxGroup): Promise<Credentials> {
  const gapless = await bench.ownGapless({ dataDir });
  await bench.api(gapless).createEndpoint(inbox.urls[0] ?? '', [BENCH_EVENT]);
  await gapless.stop();
  return gapless.credentials;
}

/** Has the events in log and feed, while nothing routes and pushes them. */
async function accumulate(bench: Bench, dataDir: string, credentials: Credentials): Promise<void> {
  const stages = new ForkedProcess<UndispatchedOperations>(new URL('../system/undispatched-main.js', import.meta.url));
  try {
    const baseUrl = await stages.ask('start', dataDir);
    bench.print(`ingesting ${EVENTS.toLocaleString('en-US')} events while there is no dispatcher`);
    await bench.load.publish({
      baseUrl,
      apiKey: credentials.api_key,
      event: BENCH_EVENT,
      orgIds: [],
      eventsEachRequest: REQUEST_EVENTS,
      connections: CONNECTIONS,
      pace: { kind: 'burst', requests: EVENTS / REQUEST_EVENTS },
    });
    await new GaplessApi(baseUrl, credentials.api_key, bench.signal).untilHead(EVENTS);
    await stages.ask('stop', undefined);
  } finally {
    await stages.end();
  }
}

/** Reads the newest page of the feed again and again. */
async function readOn(api: GaplessApi, signal: AbortSignal): Promise<Histogram> {
  const latencies = new Histogram();
  while (!signal.aborted) {
    const began = performance.now();
    await api.readPage(EVENTS - PAGE, PAGE);
    latencies.record(performance.now() - began);
    await delay(READ_EVERY_MS);
  }
  return latencies;
}

export const backlog: Scenario = {
  name: 'backlog',
  description:
    '200,000 events that came while the dispatchers were away, pushed when they are back; the feed is read meanwhile',
  limitMs: 900_000,
  runsByDefault: 1,
  async run(bench) {
    const dataDir = newDataDir();
    bench.onEnd(async () => {
      await stopLeftovers(dataDir);
      rmSync(dataDir, { recursive: true, force: true });
    });
    const inbox = await bench.receiver.open(1);
    bench.onEnd(() => inbox.forget());
    await accumulate(bench, dataDir, await prepare(bench, dataDir, inbox));
    const { received: early } = await inbox.progress();
    if (early > 0) throw new Error(`${early} events were pushed without a dispatcher`);

    const gapless = await bench.ownGapless({ dataDir });
    const resources = bench.resources(gapless);
    const { received: before } = await inbox.progress();
    bench.print('pushing them');
    const over = new AbortController();
    const reading = readOn(bench.api(gapless), over.signal);
    await Promise.race([inbox.untilReceived(EVENTS, bench.signal), reading]).finally(() => {
      over.abort();
    });
    const cost = resources.figures({ count: EVENTS - before, of: 'deliveries' });
    const receipts = await inbox.receipts();
    const { repeats } = await inbox.progress();
    return [
      figure('drained', (EVENTS * 1_000) / (receipts.lastAt - receipts.firstAt), 'deliveries/s'),
      figure('repeated deliveries', repeats, ''),
      ...latencyFigures('a page of the feed meanwhile', await reading),
      ...cost,
    ];
  },
};
