import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Config } from '#libs/runtime';
import { CliError } from '../../cli-error.js';
import type { FoldRules, FoldStretch, FoldStretches, OnFolded } from './fold-stretches.js';

/** What a thread folds, and where. */
export interface FoldOrder {
  readonly config: Config;
  readonly databaseUrl: string;
  /** Whether it folds into the database's shadow, which exists, or into its own tables. */
  readonly isShadow: boolean;
  readonly rules: FoldRules;
  readonly stretches: readonly FoldStretch[];
}

/** A message from a thread. */
export type FromFoldThread =
  | { readonly kind: 'folded'; readonly records: number; readonly foreign: number }
  | { readonly kind: 'ended'; readonly ends: ReadonlyMap<string, number> }
  | { readonly kind: 'failed'; readonly reason: string };

const ENTRY = new URL('./fold-thread-main.js', import.meta.url);

/** A thread takes a second to start, so it is never worth it for fewer records, and by default only for many. */
const LEAST_RECORDS = 500;
const WORTH_RECORDS = 50_000;

/** Returns how many threads are worth it. @param wanted `null`: half the cores, since Postgres takes as much again */
export function threadsFor(stretches: readonly FoldStretch[], wanted: number | null): number {
  const records = stretches.reduce((sum, stretch) => sum + lengthOf(stretch), 0);
  if (records < LEAST_RECORDS) return 1;
  return wanted ?? (records < WORTH_RECORDS ? 1 : Math.ceil(availableParallelism() / 2));
}

/** Folds on several threads, since one takes a core at most. Each opens connections of its own. */
export function foldOnThreads(
  count: number,
  order: Omit<FoldOrder, 'stretches'>,
  onFolded: OnFolded,
  signal?: AbortSignal,
): FoldStretches {
  return async (stretches) => {
    signal?.throwIfAborted();
    const workers = shareOut(stretches, count).map((share) => {
      return new Worker(ENTRY, { workerData: { ...order, stretches: share } satisfies FoldOrder });
    });
    const end = async () => {
      await Promise.all(workers.map((worker) => worker.terminate()));
    };
    const abort = () => void end();
    signal?.addEventListener('abort', abort);
    try {
      const ends = await Promise.all(workers.map((worker) => endOf(worker, onFolded)));
      return new Map(ends.flatMap((each) => [...each]));
    } finally {
      signal?.removeEventListener('abort', abort);
      await end();
    }
  };
}

/** Divides stretches into at most `count` shares of about the same length. A stretch stays whole: its order counts. */
export function shareOut(stretches: readonly FoldStretch[], count: number): readonly (readonly FoldStretch[])[] {
  const shares = Array.from({ length: Math.min(count, stretches.length) }, () => ({
    length: 0,
    stretches: [] as FoldStretch[],
  }));
  for (const stretch of stretches.toSorted((a, b) => lengthOf(b) - lengthOf(a))) {
    const least = shares.reduce((a, b) => (b.length < a.length ? b : a));
    least.stretches.push(stretch);
    least.length += lengthOf(stretch);
  }
  return shares.map((share) => share.stretches);
}

function lengthOf({ from, to }: FoldStretch): number {
  return to - from;
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
      reject(new Error('a thread ended before its work'));
    });
  });
}
