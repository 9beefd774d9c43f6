import { Socket } from 'node:net';

/**
 * Loaded into a stage's process before the stage itself, so that the suite can do to it from within what it cannot do
 * from outside. The stage does not know of it, and is otherwise what operators run.
 */
export type StageOrder =
  /** From now on the process' clock is this far from the true time, for everything in it. */
  | { readonly kind: 'set_clock_off'; readonly byMs: number }
  /** The process freezes (SIGSTOP) right before it writes its next produce request to the topic to its socket. */
  | { readonly kind: 'freeze_before_write'; readonly topic: string };

const PRODUCE_API = 0;
/** A request's size, api key, api version, correlation id and client id's length come first. */
const API_KEY_AT = 4;
const SMALLEST_REQUEST = 14;

/** Where connections to a port of this machine go instead, set by the suite. */
const ROUTES = JSON.parse(process.env['FAULT_ROUTES'] ?? '{}') as Readonly<Record<string, number>>;

let clockOffMs = 0;
let freezesBefore: string | null = null;

const TrueDate = Date;
const trueNow = TrueDate.now.bind(TrueDate);
const now = (): number => trueNow() + clockOffMs;

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, given: unknown[], newTarget: typeof Date) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as Date,
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
});

function isProduceTo(topic: string, chunk: unknown): boolean {
  return (
    Buffer.isBuffer(chunk) &&
    chunk.length > SMALLEST_REQUEST &&
    chunk.readInt16BE(API_KEY_AT) === PRODUCE_API &&
    chunk.includes(topic)
  );
}

// oxlint-disable-next-line typescript/unbound-method -- it is called with the socket that it was called on
const write = Socket.prototype.write as (this: Socket, ...given: unknown[]) => boolean;

Socket.prototype.write = function writeOrFreeze(this: Socket, ...given: unknown[]): boolean {
  if (freezesBefore !== null && isProduceTo(freezesBefore, given[0])) {
    freezesBefore = null;
    // Nothing of this process runs after this line until somebody lets it go on.
    process.kill(process.pid, 'SIGSTOP');
  }
  return write.apply(this, given);
};

// oxlint-disable-next-line typescript/unbound-method -- it is called with the socket that it was called on
const connect = Socket.prototype.connect as (this: Socket, ...given: unknown[]) => Socket;

Socket.prototype.connect = function connectByRoute(this: Socket, ...given: unknown[]): Socket {
  // `net.connect` hands over its own arguments as one array.
  const [options] = (Array.isArray(given[0]) ? given[0] : given) as unknown[];
  if (typeof options === 'object' && options !== null && 'port' in options) {
    options.port = ROUTES[String(options.port)] ?? options.port;
  }
  return connect.apply(this, given);
};

process.on('message', (order: StageOrder) => {
  if (order.kind === 'set_clock_off') clockOffMs = order.byMs;
  else freezesBefore = order.topic;
});
// A suite that was killed leaves no stage behind.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// The suite's wish to speak is no reason to stay.
process.channel?.unref();
