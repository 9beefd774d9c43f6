import kafkajs from 'kafkajs';
import type { Random } from './random.js';
import type { Trace } from './trace.js';
import { Actor, type ScheduledEvent, type VirtualTime } from './virtual-time.js';

/** How likely it is that a request meets a fault of the network, and how slow the network is. */
export interface Weather {
  /** The request does not arrive. */
  loseRequest: number;
  /** The request is carried out, and its answer does not arrive. */
  loseReply: number;
  /** The request, or its answer, takes up to so many milliseconds longer. */
  delay: number;
  delayMs: number;
}

export const CALM: Weather = { loseRequest: 0, loseReply: 0, delay: 0, delayMs: 0 };

export interface Answer<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

interface Flight {
  readonly server: Actor;
  readonly fail: (error: Error) => void;
  /** Whether the server that it was sent to is another one by now. */
  isBroken: boolean;
}

export interface RequestOptions {
  /** After this the client gives up, whatever became of the request. */
  readonly timeoutMs: number;
  /** The error that reports a connection that broke. */
  readonly broken: () => Error;
}

/** Carries requests from one actor to another. */
export class Network {
  /** Of the requests of each kind: the first word of their names. */
  readonly weather = new Map<string, Weather>();
  /** Freezes a client at the moment in which it sends such a request; the request leaves when it thaws. */
  freezeAtSend: { readonly prefix: string; readonly forMs: number; readonly client: Actor | null } | null = null;
  readonly #flights = new Set<Flight>();

  constructor(
    private readonly time: VirtualTime,
    private readonly random: Random,
    private readonly trace: Trace,
  ) {}

  /** @param handle carries the request out at the server, which may answer later */
  request<T>(server: Actor, name: string, options: RequestOptions, handle: (answer: Answer<T>) => void): Promise<T> {
    const client = this.time.current;
    return new Promise<T>((resolve, reject) => {
      const weather = this.weather.get(name.slice(0, name.indexOf(' '))) ?? CALM;
      const isLost = weather.loseRequest > 0 && this.random.chance(weather.loseRequest);
      const losesReply = weather.loseReply > 0 && this.random.chance(weather.loseReply);
      let isOpen = true;
      let hasArrived = false;
      let timeout: ScheduledEvent | null = null;
      const close = (act: () => void) => {
        if (!isOpen) return;
        isOpen = false;
        if (hasArrived) this.#flights.delete(flight);
        if (timeout !== null) timeout.run = null;
        act();
      };
      /** What the server says comes to the client as an event of its own. */
      const reply = (act: () => void) => {
        if (isOpen)
          this.time.schedule(this.#latencyMs(weather), client, () => {
            close(act);
          });
      };
      const fail = (error: Error) => {
        reply(() => {
          reject(error);
        });
      };
      const flight: Flight = { server, fail, isBroken: false };
      this.#flights.add(flight);
      const depart = () => {
        this.time.schedule(this.#latencyMs(weather), server, () => {
          hasArrived = true;
          // A request whose client has given up is carried out all the same.
          if (!isOpen) this.#flights.delete(flight);
          if (flight.isBroken) return;
          if (isLost) {
            this.trace.note(`${name} does not arrive`);
            fail(options.broken());
            return;
          }
          handle({
            resolve: (value) => {
              if (flight.isBroken) return;
              if (losesReply) {
                this.trace.note(`the answer to ${name} does not arrive`);
                fail(options.broken());
              } else
                reply(() => {
                  resolve(value);
                });
            },
            reject: fail,
          });
        });
      };
      timeout = this.time.schedule(options.timeoutMs, client, () => {
        close(() => {
          this.trace.note(`${name} takes too long`);
          reject(new kafkajs.KafkaJSRequestTimeoutError(`Request ${name} timed out`));
        });
      });
      if (this.#freezes(client, name)) this.time.schedule(0, client, depart);
      else depart();
    });
  }

  /** A server that has died: nobody gets an answer, whether or not the request was carried out. */
  break(server: Actor, broken: () => Error): void {
    for (const flight of this.#flights) {
      if (flight.server !== server || flight.isBroken) continue;
      flight.isBroken = true;
      flight.fail(broken());
    }
  }

  #freezes(client: Actor, name: string): boolean {
    const wanted = this.freezeAtSend;
    if (wanted === null || !name.startsWith(wanted.prefix)) return false;
    if (wanted.client !== null && wanted.client !== client) return false;
    this.freezeAtSend = null;
    this.trace.note(`freezes for ${Math.round(wanted.forMs)} ms just before it sends ${name}`, client.name);
    this.time.freeze(client);
    this.time.schedule(wanted.forMs, new Actor('chance'), () => {
      if (!client.isAlive) return;
      this.trace.note('thaws', client.name);
      this.time.thaw(client);
    });
    return true;
  }

  #latencyMs(weather: Weather): number {
    const usual = this.random.between(0.2, 1.5);
    return weather.delay > 0 && this.random.chance(weather.delay)
      ? usual + this.random.between(0, weather.delayMs)
      : usual;
  }
}
