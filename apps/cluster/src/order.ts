/** The set or broker of an order, counted from 1. */
export interface Target {
  readonly kind: 'set' | 'broker';
  readonly number: number;
}

/** A command that was typed. */
export type Order =
  | { readonly kind: 'start' | 'stop' | 'kill'; readonly target: Target }
  | { readonly kind: 'status' | 'help' | 'quit' | 'nothing' }
  | { readonly kind: 'unclear'; readonly reason: string };

export const ORDERS_HELP = `stop 2           ends every process of set 2 in order (SIGTERM)
kill 2           ends them as a crash does (SIGKILL)
start 2          starts them again
stop broker 3    the same of a Kafka broker; kill, start as well
status           what runs where
quit             ends everything, as Ctrl-C does`;

const ACTS = ['start', 'stop', 'kill'] as const;
const PLAIN = ['status', 'help', 'quit'] as const;
const ORDER = /^(?<act>[a-z]+)(?:\s+(?:(?<kind>set|broker)\s+)?(?<number>\d{1,3}))?$/;

/** Parses a line. @param has how many sets and brokers there are */
export function parseOrder(line: string, has: { readonly sets: number; readonly brokers: number }): Order {
  const text = line.trim().toLowerCase();
  if (text === '') return { kind: 'nothing' };
  const { act = '', kind = 'set', number } = ORDER.exec(text)?.groups ?? {};
  const plain = PLAIN.find((one) => one === act);
  if (plain !== undefined && number === undefined) return { kind: plain };
  const wanted = ACTS.find((one) => one === act);
  if (wanted === undefined || number === undefined)
    return { kind: 'unclear', reason: `"${text}" is no order; try help` };
  const target: Target = { kind: kind === 'broker' ? 'broker' : 'set', number: Number(number) };
  const count = target.kind === 'broker' ? has.brokers : has.sets;
  if (target.number < 1 || target.number > count) {
    return { kind: 'unclear', reason: `there is no ${target.kind} ${number}; there are 1 to ${count}` };
  }
  return { kind: wanted, target };
}
