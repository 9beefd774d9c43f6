import { setMaxListeners } from 'node:events';
import type { NamedStretch } from './flame/write-flame-graphs.js';
import type { GaplessNeeds, Session } from './session.js';
import { GaplessApi } from './system/gapless-api.js';
import type { BareKafka } from './system/bare-kafka.js';
import type { GaplessProcess } from './system/gapless-process.js';
import { Resources } from './system/resources.js';
import type { Load } from './traffic/load.js';
import type { Receiver } from './traffic/receiver.js';

export interface BenchOptions {
  /** Aborted when the run is to end early. */
  readonly signal: AbortSignal;
  readonly print: (progress: string) => void;
  readonly noteStretch: (stretch: NamedStretch) => void;
}

/** What one run of a scenario works with. Everything that it makes here ends with it. */
export class Bench {
  /** Aborted when the run cannot go on: interrupted, out of time, or Gapless has died. */
  readonly signal: AbortSignal;
  readonly print: (progress: string) => void;
  readonly #cleanUps: (() => Promise<void>)[] = [];

  constructor(
    private readonly session: Session,
    private readonly options: BenchOptions,
  ) {
    this.signal = options.signal;
    // Each request that is on its way listens.
    setMaxListeners(0, this.signal);
    this.print = options.print;
  }

  get load(): Load {
    return this.session.load;
  }

  get receiver(): Receiver {
    return this.session.receiver;
  }

  /** The Gapless that serves one scenario after the other; each works in orgs of its own. */
  async gapless(): Promise<GaplessProcess> {
    // Profiles are written when a Gapless stops.
    const isProfiled = this.session.profiling.directory !== undefined;
    return isProfiled ? this.ownGapless() : this.session.sharedGapless(this.print);
  }

  /** A fresh Gapless, for who needs special settings or leaves traces. */
  async ownGapless(needs: GaplessNeeds = {}): Promise<GaplessProcess> {
    const gapless = await this.session.ownGapless(needs, this.print);
    this.onEnd(() => gapless.stop());
    return gapless;
  }

  /** A fresh Kafka without a Gapless. */
  async ownKafka(): Promise<BareKafka> {
    const kafka = await this.session.ownKafka(this.print);
    this.onEnd(() => kafka.stop());
    return kafka;
  }

  /** @param apiKey of an org; that of the demo org, if not given */
  api({ credentials }: GaplessProcess, apiKey = credentials.api_key): GaplessApi {
    return new GaplessApi(credentials.base_url, apiKey, this.signal);
  }

  /** What work costs from now on. */
  resources({ pid }: GaplessProcess): Resources {
    return new Resources({ gapless: pid, load: this.load.pid, receiver: this.receiver.pid });
  }

  /** What a bare loop of signed POSTs reaches at this moment, in requests per second. */
  async bareLoop(eventBytes?: number): Promise<number> {
    this.print('the bare loop');
    return this.session.yardstick.measure(this.receiver, eventBytes);
  }

  /** Of the process of the bare loop. */
  get bareLoopPid(): number {
    return this.session.yardstick.pid;
  }

  /** What the bare pipeline has reached in this session, in events per second, if it was measured. */
  get barePipelinePerSecond(): number | undefined {
    return this.session.barePipelinePerSecond;
  }

  noteBarePipeline(perSecond: number): void {
    this.session.barePipelinePerSecond = perSecond;
  }

  /** Notes that what is measured happened in this stretch; times are by `monotonicMs`. */
  noteStretch(stretch: NamedStretch): void {
    this.options.noteStretch(stretch);
  }

  /** Runs `act` when the run ends; what was made last ends first. */
  onEnd(act: () => Promise<void>): void {
    this.#cleanUps.push(act);
  }

  async end(): Promise<void> {
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) await cleanUp();
  }
}
