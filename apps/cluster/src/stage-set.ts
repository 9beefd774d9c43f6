import type { StageName } from '#libs/runtime';
import type { SupervisedProcess } from './supervised-process.js';

/** A process of a set, and its port. */
export interface StageMember {
  readonly stage: StageName;
  readonly port: number;
  readonly process: SupervisedProcess;
}

/** One process of every stage, which together carry events from the api to the endpoints. */
export class StageSet {
  constructor(
    /** Counted from 1. */
    readonly number: number,
    readonly members: readonly StageMember[],
  ) {}

  /** The url of its api. */
  get apiUrl(): string {
    const { port } = this.members.find(({ stage }) => stage === 'api') ?? { port: 0 };
    return `http://127.0.0.1:${port}`;
  }

  /** Whether its api is ready. */
  get answers(): boolean {
    return this.members.some(({ stage, process }) => stage === 'api' && process.state === 'ready');
  }

  start(): void {
    for (const { process } of this.members) process.start();
  }

  async ready(signal: AbortSignal): Promise<void> {
    await Promise.all(this.members.map(({ process }) => process.ready(signal)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map(({ process }) => process.stop()));
  }

  async kill(): Promise<void> {
    await Promise.all(this.members.map(({ process }) => process.kill()));
  }
}
