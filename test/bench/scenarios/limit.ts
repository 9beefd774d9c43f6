import { BarePipeline } from '../bare-pipeline/bare-pipeline.js';
import type { Hop } from '../bare-pipeline/hop.js';
import { PipelineCost } from '../bare-pipeline/pipeline-cost.js';
import type { Bench } from '../bench.js';
import { figure, figuresOf, type Figure } from '../figures/figure.js';
import type { Histogram } from '../figures/histogram.js';
import type { Scenario } from '../scenario.js';

const EVENTS = 20_000;
/** What a process compiles in its first seconds is not what it does all day. */
const WARM_UP_EVENTS = 15_000;
const IN_FLIGHT = 64;

/** What each process of a pipeline does, with topics that begin with the prefix and pushes that go to the URL. */
type Parts = (prefix: string, url: string) => readonly (readonly Hop[])[];

function pushed(from: string, url: string, outcomesTo?: string): Hop {
  return { kind: 'push', from, url, connections: IN_FLIGHT, outcomesTo };
}

function sequenced(prefix: string): Hop {
  return { kind: 'forward', from: `${prefix}.inbox`, to: `${prefix}.log` };
}

function dispatched(prefix: string, url: string): Hop {
  return pushed(`${prefix}.log`, url, `${prefix}.deliveries`);
}

const inOneProcess: Parts = (prefix, url) => [[sequenced(prefix), dispatched(prefix, url)]];
/** As `npm start` divides its stages between threads. */
const inTwoProcesses: Parts = (prefix, url) => [[sequenced(prefix)], [dispatched(prefix, url)]];

/** So much of the way of an event, by itself. */
interface Step {
  readonly name: string;
  readonly parts: Parts;
  /** As many as there are orgs; one unless given. */
  readonly keys?: number;
  /** As fast as they are acknowledged unless given. */
  readonly fed?: { readonly perSecond: number; readonly seconds: number };
}

const STEPS: readonly Step[] = [
  { name: 'produce', parts: () => [[]] },
  { name: 'produce, consume', parts: (prefix) => [[{ kind: 'count', from: `${prefix}.inbox` }]] },
  { name: 'produce, consume, POST', parts: (prefix, url) => [[pushed(`${prefix}.inbox`, url)]] },
  { name: 'all hops, one process', parts: inOneProcess },
];

/** What a burst is compared with. */
const BARE_PIPELINE: Step = { name: 'all hops, two processes', parts: inTwoProcesses };

const VARIATIONS: readonly Step[] = [
  { name: 'all hops, two processes, 50 orgs', parts: inTwoProcesses, keys: 50 },
  // About what a burst of single requests has: what comes slowly comes in small batches.
  { name: 'all hops, two processes, fed 1,800/s', parts: inTwoProcesses, fed: { perSecond: 1_800, seconds: 5 } },
  // What `steady` has.
  { name: 'all hops, two processes, fed 100/s', parts: inTwoProcesses, fed: { perSecond: 100, seconds: 20 } },
];

interface Measured {
  readonly name: string;
  readonly perSecond: number;
  readonly recordsEachBatch: number | null;
  /** Only where events are fed at a rate: at full speed it is the time in a queue. */
  readonly latencies: Histogram | undefined;
  readonly cost: readonly Figure[];
}

async function measureBareLoop(bench: Bench): Promise<Measured> {
  // The first one compiles.
  await bench.bareLoop();
  const cost = new PipelineCost({ parts: [bench.bareLoopPid], receiver: bench.receiver.pid });
  const began = performance.now();
  const perSecond = await bench.bareLoop();
  const events = (perSecond * (performance.now() - began)) / 1_000;
  return { name: 'bare loop', perSecond, recordsEachBatch: null, latencies: undefined, cost: cost.figures(events) };
}

/** @throws when an event is lost or repeated */
async function measure(bench: Bench, brokers: string, { name, parts, keys = 1, fed }: Step): Promise<Measured> {
  bench.print(name);
  const prefix = name.replaceAll(/\W+/g, '-');
  const inboxes = await bench.receiver.open(1);
  const [url = ''] = inboxes.urls;
  const plan = { brokers, inbox: `${prefix}.inbox`, parts: parts(prefix, url) };
  const pipeline = await BarePipeline.start(plan);
  try {
    await pipeline.pass({ events: WARM_UP_EVENTS, inFlight: IN_FLIGHT, keys }, bench.signal);
    const events = fed === undefined ? EVENTS : fed.perSecond * fed.seconds;
    const cost = new PipelineCost({ parts: pipeline.pids, receiver: bench.receiver.pid });
    const { tookMs, recordsEachBatch, latencies } = await pipeline.pass(
      { events, inFlight: IN_FLIGHT, keys, perSecond: fed?.perSecond },
      bench.signal,
    );
    const spent = cost.figures(events);
    if (plan.parts.flat().some(({ kind }) => kind === 'push')) {
      const { received, repeats } = await inboxes.progress();
      const expected = WARM_UP_EVENTS + events;
      if (received !== expected || repeats > 0) {
        throw new Error(`${name}: ${received} of ${expected} events were received, ${repeats} of them repeatedly`);
      }
    }
    return {
      name,
      perSecond: (events * 1_000) / tookMs,
      recordsEachBatch,
      latencies: fed === undefined ? undefined : latencies,
      cost: spent,
    };
  } finally {
    await pipeline.end();
    await inboxes.forget();
  }
}

export const limit: Scenario = {
  name: 'limit',
  description: '20,000 events through Kafka with nothing around it, a hop more at a time, beside the bare loop',
  timesBareLoop: true,
  limitMs: 180_000,
  runsByDefault: 1,
  layout: 'rows',
  async run(bench) {
    const { brokers } = await bench.ownKafka();
    const before = await measureBareLoop(bench);
    const steps: Measured[] = [];
    for (const step of STEPS) steps.push(await measure(bench, brokers, step));
    const pipeline = await measure(bench, brokers, BARE_PIPELINE);
    bench.noteBarePipeline(pipeline.perSecond);
    steps.push(pipeline);
    for (const step of VARIATIONS) steps.push(await measure(bench, brokers, step));
    const bareLoop = (before.perSecond + (await bench.bareLoop())) / 2;
    return [{ ...before, perSecond: bareLoop }, ...steps].flatMap(
      ({ name, perSecond, recordsEachBatch, latencies, cost }) =>
        figuresOf(name, [
          figure('events/s', perSecond, ''),
          figure('of the bare loop', perSecond / bareLoop, '×'),
          figure('records a batch', recordsEachBatch, ''),
          figure('sent to answered, p50', latencies?.quantile(0.5), 'ms'),
          figure('sent to answered, p99', latencies?.quantile(0.99), 'ms'),
          ...cost,
        ]),
    );
  },
};
