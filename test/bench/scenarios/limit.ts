import { BarePipeline } from '../bare-pipeline/bare-pipeline.js';
import type { Hop } from '../bare-pipeline/hop.js';
import { PipelineCost } from '../bare-pipeline/pipeline-cost.js';
import type { Bench } from '../bench.js';
import { figure, figuresOf, type Figure } from '../figures/figure.js';
import type { Scenario } from '../scenario.js';

const EVENTS = 20_000;
/** What a process compiles in its first seconds is not what it does all day. */
const WARM_UP_EVENTS = 15_000;
const IN_FLIGHT = 64;

/** A part of what a push through Kafka takes, by itself. */
interface Step {
  readonly name: string;
  /** What each process does, with topics that begin with the prefix and pushes that go to the URL. */
  readonly parts: (prefix: string, url: string) => readonly (readonly Hop[])[];
  readonly keys: number;
}

const push = (from: string, url: string, outcomesTo?: string): Hop => {
  return { kind: 'push', from, url, connections: IN_FLIGHT, outcomesTo };
};
const takeIn = (prefix: string): readonly Hop[] => [
  { kind: 'forward', from: `${prefix}.inbox`, to: `${prefix}.log` },
  { kind: 'forward', from: `${prefix}.log`, to: `${prefix}.attempts` },
];
const pushOut = (prefix: string, url: string): Hop => push(`${prefix}.attempts`, url, `${prefix}.deliveries`);

const STEPS: readonly Step[] = [
  { name: 'produce', parts: () => [[]], keys: 1 },
  { name: 'produce, consume', parts: (prefix) => [[{ kind: 'count', from: `${prefix}.inbox` }]], keys: 1 },
  { name: 'produce, consume, POST', parts: (prefix, url) => [[push(`${prefix}.inbox`, url)]], keys: 1 },
  { name: 'all hops', parts: (prefix, url) => [[...takeIn(prefix), pushOut(prefix, url)]], keys: 1 },
  { name: 'all hops, 50 orgs', parts: (prefix, url) => [[...takeIn(prefix), pushOut(prefix, url)]], keys: 50 },
  { name: 'all hops, two processes', parts: (prefix, url) => [takeIn(prefix), [pushOut(prefix, url)]], keys: 1 },
];

interface Measured {
  readonly perSecond: number;
  readonly cost: readonly Figure[];
}

async function measure(bench: Bench, brokers: string, { name, parts, keys }: Step): Promise<Measured> {
  bench.tell(name);
  const prefix = name.replaceAll(/\W+/g, '-');
  const inboxes = await bench.receiver.open(1);
  const [url = ''] = inboxes.urls;
  const plan = { brokers, inbox: `${prefix}.inbox`, parts: parts(prefix, url) };
  const pipeline = await BarePipeline.start(plan);
  try {
    await pipeline.pass({ events: WARM_UP_EVENTS, inFlight: IN_FLIGHT, keys }, bench.signal);
    const cost = new PipelineCost({ parts: pipeline.pids, receiver: bench.receiver.pid });
    const { count, tookMs } = await pipeline.pass({ events: EVENTS, inFlight: IN_FLIGHT, keys }, bench.signal);
    const figures = cost.figures(count);
    const isPushed = plan.parts.flat().some(({ kind }) => kind === 'push');
    const { received, repeats } = await inboxes.progress();
    if (isPushed && (received !== WARM_UP_EVENTS + EVENTS || repeats > 0)) {
      throw new Error(`${received} of ${WARM_UP_EVENTS + EVENTS} events were received, ${repeats} repeatedly`);
    }
    return { perSecond: (count * 1_000) / tookMs, cost: figures };
  } finally {
    await pipeline.end();
    await inboxes.forget();
  }
}

export const limit: Scenario = {
  name: 'limit',
  description: '20,000 events through Kafka and nothing around it, a hop more at a time, beside the bare loop',
  limitMs: 180_000,
  runsByDefault: 1,
  layout: 'rows',
  async run(bench) {
    const { brokers } = await bench.ownKafka();
    const before = await bench.bareLoop();
    const steps: (Measured & { readonly name: string })[] = [];
    for (const step of STEPS) steps.push({ name: step.name, ...(await measure(bench, brokers, step)) });
    const after = await bench.bareLoop();
    const bareLoop = (before + after) / 2;
    return [
      figure('bare loop: events/s', bareLoop, ''),
      ...steps.flatMap(({ name, perSecond, cost }) =>
        figuresOf(name, [
          figure('events/s', perSecond, ''),
          figure('of the bare loop', perSecond / bareLoop, ''),
          ...cost,
        ]),
      ),
    ];
  },
};
