import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Command, InvalidArgumentError } from 'commander';
import { explain } from '#libs/domain';
import { stopSignal, untilAborted } from '#libs/runtime';
import { Cluster } from './cluster.js';
import { ORDERS_HELP, parseOrder } from './order.js';
import { readyText } from './ready-text.js';
import { carryOut } from './carry-out.js';

const DEFAULT_PORT = 3000;
/** The last port of the second set is this far above the first port of the first set. */
const PORTS_ABOVE = 15;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port + PORTS_ABOVE > 65_535) {
    throw new InvalidArgumentError(`Use a whole number up to ${65_535 - PORTS_ABOVE}.`);
  }
  return port;
}

async function run({ port, dataDir }: { readonly port: number; readonly dataDir: string }): Promise<void> {
  const stopped = stopSignal();
  const quitting = new AbortController();
  const signal = AbortSignal.any([stopped, quitting.signal]);
  const directory = resolve(dataDir);
  print(`The cluster is starting; its data is in ${directory}`);
  let cluster: Cluster | undefined;
  try {
    cluster = await Cluster.start({
      dataDir: directory,
      environment: process.env,
      basePort: port,
      signal,
      print,
    });
    takeOrders(cluster, () => {
      quitting.abort();
    });
    print(readyText(cluster.status, { urls: cluster.sets.map(({ apiUrl }) => apiUrl), dataDir: directory }));
    const death = await Promise.race([untilAborted(signal), cluster.died]);
    if (death instanceof Error) throw death;
  } catch (error) {
    if (!signal.aborted) {
      process.stderr.write(`cluster: ${explain(error)}\n`);
      process.exitCode = 1;
    }
  } finally {
    print('The cluster is stopping …');
    await cluster?.stop();
    print('The cluster has stopped.');
  }
}

/** Executes the lines that are typed, until the input ends. */
function takeOrders(cluster: Cluster, quit: () => void): void {
  const has = { sets: cluster.sets.length, brokers: cluster.kafka.nodes.length };
  createInterface({ input: process.stdin }).on('line', (line) => {
    carryOut(parseOrder(line, has), cluster, { print, quit }).catch((error: unknown) => {
      print(`failed: ${explain(error)}`);
    });
  });
}

await new Command('cluster')
  .description(
    'Runs Gapless as in production on this machine: three Kafka brokers (replication 3, minimum in-sync 2), one ' +
      'Postgres, and two full sets of stages. Each process has its own port. A process that ends by itself is ' +
      'started again.',
  )
  .option(
    '--port <n>',
    `the port of the first API; other ports are up to ${PORTS_ABOVE} higher; any free port replaces one that is taken`,
    parsePort,
    DEFAULT_PORT,
  )
  .option(
    '--data-dir <path>',
    'the folder for the data of the servers, the logs and credentials.json',
    process.env['DATA_DIR']?.trim() || join('.data', 'cluster'),
  )
  .showHelpAfterError('(try --help)')
  .addHelpText(
    'after',
    `
While it runs, type:
${ORDERS_HELP.replaceAll(/^/gm, '  ')}

npm run cluster -- demo    puts load on a cluster of its own, takes one set away in the middle, and proves that nothing
                           is lost; demo --help lists the options`,
  )
  .action(run)
  .parseAsync();
process.exit();
