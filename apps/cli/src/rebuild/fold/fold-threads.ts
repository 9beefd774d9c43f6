import { Worker } from 'node:worker_threads';
import type { Config } from '#libs/runtime';
import { CliError } from '../../cli-error.js';
import type { FoldRules, FoldStretch, FoldStretches, OnFolded } from './fold-stretches.js';

/** What a thread folds, and where. */
export interface FoldOrder {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly rules: FoldRules;
  readonly stretches: readonly FoldStretch[];
}

/** A message from a thread. */
export type FromFoldThread =
  | { readonly kind: 'folded'; readonly records: number; readonly foreign: number }
  | { readonly kind: 'ended'; readonly ends: ReadonlyMap<string, number> }
  | { readonly kind: 'failed'; readonly reason: string };

const ENTRY = new URL('./fold-thread-main.js', import.meta.url);

/** Folds on several threads, since one takes a core at most. Each opens connections of its own. */
export function foldOnThreads(count: number, order: Omit<FoldOrder, 'stretches'>, onFolded: OnFolded): FoldStretches {
  return async (stretches) => {
    const shares = shareOut(stretches, count);
    const workers = shares.map((share) => {
      return new Worker(ENTRY, { workerData: { ...order, stretches: share } satisfies FoldOrder });
    });
    try {
      const ends = await Promise.all(workers.map((worker) => endOf(worker, onFolded)));
      return new Map(ends.flatMap((each) => [...each]));
    } finally {
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
  };
}

/** Divides stretches into at most `count` shares of about the same length. A stretch stays whole: its order counts. */
export function shareOut(stretches: readonly FoldStretch[], count: number): readonly (readonly FoldStretch[])[] {
  const shares = Array.from({ length: Math.min(count, stretches.length) }, () => ({
    length: 0,
    stretches: [] as FoldStretch[],
  }));
  const lengthOf = ({ from, to }: FoldStretch) => to - from;
  for (const stretch of stretches.toSorted((a, b) => lengthOf(b) - lengthOf(a))) {
    const least = shares.reduce((a, b) => (b.length < a.length ? b : a));
    least.stretches.push(stretch);
    least.length += lengthOf(stretch);
  }
  return shares.map((share) => share.stretches);
}

async function endOf(worker: Worker, onFolded: OnFolded): Promise<ReadonlyMap<string, number>> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: FromFoldThread) => {
      switch (message.kind) {
        case 'folded':
          onFolded(message.records, message.foreign);
          return;
        case 'ended':
          resolve(message.ends);
          return;
        case 'failed':
          reject(new CliError(message.reason));
      }
    });
    worker.once('error', reject);
    worker.once('exit', () => {
      reject(new Error('a thread of the rebuild ended before its work'));
    });
  });
}
