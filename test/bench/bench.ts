import { setMaxListeners } from 'node:events';
import { GaplessApi } from './gapless-api.js';
import { GaplessProcess } from './gapless-process.js';
import { Load } from './load.js';
import { Receiver } from './receiver.js';
import type { Report } from './report.js';

/** Something to measure. */
export interface Scenario {
  readonly name: string;
  /** One line for the help. */
  readonly description: string;
  /** It is given up after this long. */
  readonly limitMs: number;
  run(bench: Bench): Promise<Report['figures']>;
}

export interface BenchOptions {
  /** Aborted when the run is to end early. */
  readonly signal: AbortSignal;
  readonly tell: (progress: string) => void;
  readonly cpuProfileDir?: string | undefined;
}

/** What a scenario works with. Everything that it makes here ends with it. */
export class Bench {
  /** Aborted when the scenario cannot go on: interrupted, out of time, or Gapless has died. */
  readonly signal: AbortSignal;
  readonly tell: (progress: string) => void;
  readonly #ending = new AbortController();
  readonly #cleanUps: (() => Promise<void>)[] = [];

  constructor(private readonly options: BenchOptions) {
    this.signal = AbortSignal.any([options.signal, this.#ending.signal]);
    // Each request that is on its way listens.
    setMaxListeners(0, this.signal);
    this.tell = options.tell;
  }

  /** A fresh Gapless, ready. */
  async gapless(environment: Readonly<Record<string, string>> = {}): Promise<GaplessProcess> {
    this.tell('starting a fresh Gapless');
    const { cpuProfileDir } = this.options;
    const gapless = await GaplessProcess.start({ environment, cpuProfileDir }, this.signal);
    this.#cleanUps.push(() => gapless.stop());
    gapless.died.addEventListener('abort', () => {
      this.#ending.abort(gapless.died.reason);
    });
    return gapless;
  }

  api({ credentials }: GaplessProcess): GaplessApi {
    return new GaplessApi(credentials.base_url, credentials.api_key, this.signal);
  }

  async receiver(): Promise<Receiver> {
    const receiver = await Receiver.start(this.signal);
    this.#cleanUps.push(() => receiver.close());
    return receiver;
  }

  /** @param connections how many requests are on their way at the same time, at most */
  load({ credentials }: GaplessProcess, connections: number): Load {
    const target = { baseUrl: credentials.base_url, apiKey: credentials.api_key };
    const load = new Load(target, { connections, signal: this.signal });
    this.#cleanUps.push(() => load.close());
    return load;
  }

  /** Runs `act` when the scenario ends; what was made last ends first. */
  onEnd(act: () => Promise<void>): void {
    this.#cleanUps.push(act);
  }

  async end(): Promise<void> {
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) await cleanUp();
  }
}

/** Runs the scenario and removes what it made, however it ends. */
export async function runScenario(scenario: Scenario, options: BenchOptions): Promise<Report> {
  const timeLimit = new AbortController();
  const timer = setTimeout(() => {
    timeLimit.abort(new Error(`${scenario.name} took longer than ${scenario.limitMs / 1_000} s`));
  }, scenario.limitMs);
  const bench = new Bench({ ...options, signal: AbortSignal.any([options.signal, timeLimit.signal]) });
  try {
    return { scenario: scenario.name, figures: await scenario.run(bench) };
  } catch (error) {
    throw bench.signal.aborted ? bench.signal.reason : error;
  } finally {
    clearTimeout(timer);
    await bench.end();
  }
}
