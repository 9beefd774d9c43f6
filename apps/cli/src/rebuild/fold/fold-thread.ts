import { OperatorError } from '#libs/domain';
import { ShadowTables, Store } from '#libs/postgres';
import { connectKafka } from '../../installation.js';
import { explainedFailure } from '../../with-store.js';
import { feedTables, foldHere, type FoldTables } from './fold-stretches.js';
import type { FoldOrder, FromFoldThread } from './fold-threads.js';
import { foldStoreOptions } from './fold-store-options.js';

/** Does the work of one thread, and sends what became of it. */
export async function foldInThread(
  { config, databaseUrl, isShadow, rules, stretches }: FoldOrder,
  send: (message: FromFoldThread) => void,
): Promise<void> {
  const options = foldStoreOptions(databaseUrl);
  const tables: FoldTables = isShadow
    ? new ShadowTables(options)
    : feedTables(new Store({ ...options, migratesWhenOpened: false }));
  try {
    await tables.store.openNow();
    const fold = foldHere(connectKafka(config), tables, rules, (records, foreign) => {
      send({ kind: 'folded', records, foreign });
    });
    send({ kind: 'ended', ends: await fold(stretches) });
  } catch (error) {
    const explained = explainedFailure(error, options.queryTimeoutMs);
    // Anything else is a defect, and the thread ends with its stack.
    if (!(explained instanceof OperatorError)) throw error;
    send({ kind: 'failed', reason: explained.message });
  } finally {
    await tables.store.close();
  }
}
