import { parentPort, workerData } from 'node:worker_threads';
import { OperatorError } from '#libs/domain';
import { ShadowTables } from '#libs/postgres';
import { explainedFailure } from '../../with-store.js';
import { connectKafka } from '../../installation.js';
import { foldHere } from './fold-stretches.js';
import type { FoldOrder, FromFoldThread } from './fold-threads.js';
import { shadowStoreOptions } from './shadow-store-options.js';

const { config, databaseUrl, rules, stretches } = workerData as FoldOrder;

function send(message: FromFoldThread): void {
  parentPort?.postMessage(message);
}

const options = shadowStoreOptions(databaseUrl);
const tables = new ShadowTables(options);
try {
  await tables.store.open(() => undefined);
  const fold = foldHere(connectKafka(config), tables, rules, (records, foreign) => {
    send({ kind: 'folded', records, foreign });
  });
  send({ kind: 'ended', ends: await fold(stretches) });
} catch (error) {
  // Anything else is a defect, and the thread ends with its stack.
  const explained = explainedFailure(error, options.queryTimeoutMs);
  if (!(explained instanceof OperatorError)) throw error;
  send({ kind: 'failed', reason: explained.message });
} finally {
  await tables.store.close();
}
