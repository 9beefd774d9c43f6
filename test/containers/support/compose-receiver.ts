import type { ChildProcess } from 'node:child_process';
import { eventually } from '../../support/infrastructure/eventually.js';
import type { ComposeProject } from './compose-project.js';

const READY_TIMEOUT_MS = 60_000;

/** The consumer of docker/compose.yaml, and what it prints. */
export class ComposeReceiver {
  #printed = '';

  private constructor(
    private readonly project: ComposeProject,
    private readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#printed += text;
      });
    }
  }

  /** Resolves once its endpoint is registered. */
  static async start(project: ComposeProject): Promise<ComposeReceiver> {
    const receiver = new ComposeReceiver(project, project.startRun('receiver'));
    await eventually(
      () => {
        if (!receiver.printed.includes('Registered as endpoint')) throw new Error(`it printed: ${receiver.printed}`);
      },
      { timeoutMs: READY_TIMEOUT_MS },
    );
    return receiver;
  }

  get printed(): string {
    return this.#printed;
  }

  /** The seqs of the events that it has handled, in that order; pushes that came again are left out. */
  get seqs(): readonly number[] {
    const events = this.#printed.matchAll(/^#(\d+) {2}\S+ {2}evt_(?!.*handled before$)/gm);
    return [...events].map(([, seq]) => Number(seq));
  }

  /** Resolves once it has deleted its endpoint and is gone. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    await this.project.endRuns('receiver');
    if (this.child.exitCode === null) await ended;
  }
}
