import { setMaxListeners } from 'node:events';
import type { Profiling } from './flame/profiling.js';
import { startBareKafka, type BareKafka } from './system/bare-kafka.js';
import { GaplessProcess, type GaplessProcessOptions } from './system/gapless-process.js';
import { kafkaSettings, serverSettings } from './system/server-settings.js';
import { Load } from './traffic/load.js';
import { Receiver } from './traffic/receiver.js';
import { Yardstick } from './traffic/yardstick.js';

export interface SessionOptions {
  /** Aborted when everything is to end early. */
  readonly signal: AbortSignal;
  readonly profiling: Profiling;
}

/** What a scenario may need of a Gapless of its own. */
export type GaplessNeeds = Partial<Pick<GaplessProcessOptions, 'environment' | 'dataDir'>>;

/** What the scenarios share: the processes around Gapless, and one Gapless for all that need nothing special of it. */
export class Session {
  /** Aborted when nothing can go on: interrupted, or Gapless has died. */
  readonly signal: AbortSignal;
  readonly load = new Load();
  readonly receiver = new Receiver();
  readonly yardstick = new Yardstick();
  /** What the bare pipeline has reached, in events per second; `undefined` as long as it has not been measured. */
  barePipelinePerSecond: number | undefined;
  readonly #failing = new AbortController();
  #shared: GaplessProcess | undefined;
  #settings: Readonly<Record<string, string>> = {};

  constructor(private readonly options: SessionOptions) {
    this.signal = AbortSignal.any([options.signal, this.#failing.signal]);
    setMaxListeners(0, this.signal);
  }

  /** The Gapless that scenarios share; the first of them starts it. */
  async sharedGapless(print: (progress: string) => void): Promise<GaplessProcess> {
    this.#shared ??= await this.#start({}, print);
    return this.#shared;
  }

  /** A Gapless that is the caller's to stop. Nothing else runs beside it. */
  async ownGapless(options: GaplessNeeds, print: (progress: string) => void): Promise<GaplessProcess> {
    await this.#stopShared();
    return this.#start(options, print);
  }

  /** A Kafka without a Gapless that is the caller's to stop. Nothing else runs beside it. */
  async ownKafka(print: (progress: string) => void): Promise<BareKafka> {
    await this.#stopShared();
    print('starting Kafka alone');
    const kafka = await startBareKafka(this.signal);
    void kafka.died.then((reason) => {
      this.#failing.abort(reason);
    });
    this.#settings = await kafkaSettings([kafka.brokers]);
    return kafka;
  }

  /** How safe writes are with the Gapless, or the Kafka alone, that was started last, by its servers. */
  get settings(): Readonly<Record<string, string>> {
    return this.#settings;
  }

  get profiling(): Profiling {
    return this.options.profiling;
  }

  async end(): Promise<void> {
    await this.#stopShared();
    await Promise.all([this.load.end(), this.receiver.end(), this.yardstick.end()]);
    this.profiling.end();
  }

  async #start(options: GaplessNeeds, print: (progress: string) => void): Promise<GaplessProcess> {
    print(options.dataDir === undefined ? 'starting a fresh Gapless' : 'starting Gapless');
    const cpuProfileDir = this.profiling.directory;
    const gapless = await GaplessProcess.start({ environment: {}, cpuProfileDir, ...options }, this.signal);
    gapless.died.addEventListener('abort', () => {
      this.#failing.abort(gapless.died.reason);
    });
    this.#settings = await serverSettings(gapless);
    return gapless;
  }

  async #stopShared(): Promise<void> {
    const gapless = this.#shared;
    this.#shared = undefined;
    await gapless?.stop();
  }
}
