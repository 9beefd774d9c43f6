import { mkdirSync } from 'node:fs';
import type { Credentials } from '#libs/local-installation';
import { GaplessProcess } from '../bench/system/gapless-process.js';

/** Gapless as `npm start` runs it, which can be killed with its servers and started again on what they left. */
export class Standalone {
  #running: GaplessProcess | undefined;
  #output = '';

  constructor(
    private readonly dataDir: string,
    private readonly environment: Readonly<Record<string, string>>,
    private readonly signal: AbortSignal,
  ) {
    mkdirSync(dataDir, { recursive: true });
  }

  /** Of the last start; its addresses may differ from those of the start before. */
  get credentials(): Credentials {
    if (this.#running === undefined) throw new Error('Gapless does not run');
    return this.#running.credentials;
  }

  /** What it has printed. */
  get output(): string {
    return this.#output + (this.#running?.output ?? '');
  }

  /** Resolves once it says that it is ready. @throws with the end of its output when it does not get ready */
  async start(): Promise<void> {
    const { dataDir, environment } = this;
    const running = await GaplessProcess.start({ dataDir, environment }, this.signal);
    this.#output = this.output;
    this.#running = running;
  }

  /** Kills it and its servers. @throws when it has ended by itself before */
  async crash(): Promise<void> {
    await this.#running?.crash();
  }

  async end(): Promise<void> {
    await this.#running?.stop();
  }
}
