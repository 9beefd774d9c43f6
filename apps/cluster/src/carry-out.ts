import type { Cluster } from './cluster.js';
import { ORDERS_HELP, type Order, type Target } from './order.js';
import { statusTable } from './status-table.js';

/** A set or a broker, which starts and stops as a whole. */
interface Movable {
  start(): void | Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const DONE = { start: 'starts', stop: 'has stopped', kill: 'is killed' } as const;

/** Executes a typed command, and reports when it is done. */
export async function carryOut(
  order: Order,
  cluster: Cluster,
  { print, quit }: { readonly print: (line: string) => void; readonly quit: () => void },
): Promise<void> {
  switch (order.kind) {
    case 'nothing':
      return;
    case 'quit':
      quit();
      return;
    case 'unclear':
      print(order.reason);
      return;
    case 'help':
      print(ORDERS_HELP);
      return;
    case 'status':
      print(statusTable(cluster.status));
      return;
    case 'start':
    case 'stop':
    case 'kill':
      await find(order.target, cluster)[order.kind]();
      print(`${order.target.kind} ${order.target.number} ${DONE[order.kind]}`);
  }
}

function find({ kind, number }: Target, cluster: Cluster): Movable {
  const found =
    kind === 'set'
      ? cluster.sets.find((set) => set.number === number)
      : cluster.kafka.nodes.find(({ id }) => id === number);
  if (found === undefined) throw new Error(`there is no ${kind} ${number}`);
  return found;
}
