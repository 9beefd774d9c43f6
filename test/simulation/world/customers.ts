import { batchLimit, previousSequenceOf, type Destination, type DueAttempt } from '#libs/domain';
import type { Network } from '../engine/network.js';
import type { Random } from '../engine/random.js';
import type { Trace } from '../engine/trace.js';
import { Actor, type VirtualTime } from '../engine/virtual-time.js';
import type { Ledger, LedgerEndpoint, Receipt } from './ledger.js';

/** How an endpoint behaves for a while. */
export type Mood = 'answers' | 'is slow' | 'fails at times' | 'fails' | 'hangs';

const REFUSED = 'refused';

interface Answer {
  readonly status: number;
  /** How many events of the request it accepts. */
  readonly acknowledged: number;
}

interface CustomersDependencies {
  readonly time: VirtualTime;
  readonly random: Random;
  /** Decides what becomes of batches. */
  readonly answers: Random;
  readonly network: Network;
  readonly trace: Trace;
  readonly ledger: Ledger;
  /** How long an attempt waits for its answer. */
  readonly timeoutMs: number;
}

/** The endpoints of the customers, and the way to them. */
export class Customers {
  /** By a part of their urls. */
  readonly moods = new Map<string, Mood>();
  readonly #actor = new Actor('customers');

  constructor(private readonly use: CustomersDependencies) {}

  /**
   * @param onPost is called for each attempt that a process begins
   * @param isAlive whether the process is alive: the attempts of one that is not have ended
   */
  destinationOf(onPost: (due: DueAttempt) => void, isAlive: () => boolean): Destination {
    const { time, network, ledger } = this.use;
    return {
      close: () => Promise.resolve(),
      attempt: async (due, { url, settings }, signal) => {
        const { eventId } = due.delivery;
        const isBatch = batchLimit(settings) !== null;
        const named = previousSequenceOf(due.delivery);
        const all = [due, ...(due.followers ?? [])];
        const sent = all.map(({ delivery, envelope }, place) => ({
          eventId: delivery.eventId,
          body: envelope,
          // A receiver takes it that the events of a request follow each other.
          ...(named === undefined ? {} : { previous: all[place - 1]?.delivery.seq ?? Number(named) }),
        }));
        const endpoint = ledger.endpointsByUrl.get(url);
        if (endpoint === undefined) throw new Error(`nobody has registered ${url}`);
        const { id: endpointId } = endpoint;
        const wallMs = time.wallMs;
        onPost(due);
        const flight = () => isAlive();
        this.#begin(endpoint, flight);
        const startedAtMs = time.nowMs;
        const durationMs = () => Math.round(time.nowMs - startedAtMs);
        const aborted = new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(new Error('aborted'));
          });
        });
        try {
          const options = { timeoutMs: this.use.timeoutMs, broken: () => new Error(REFUSED) };
          const answered = await Promise.race([
            aborted,
            network.request<Answer>(this.#actor, `push ${endpointId} ${eventId}`, options, (answer) => {
              this.#receive(endpoint, sent, isBatch, answer.resolve);
            }),
          ]);
          const { status, acknowledged } = answered;
          const error = status === 200 ? null : { kind: 'http_status' as const, detail: String(status) };
          const response = { code: status, excerpt: '' };
          const accepts = isBatch && error === null ? { acknowledged } : {};
          return { startedAtMs: wallMs, durationMs: durationMs(), response, error, attributes: {}, ...accepts };
        } catch (error) {
          const isRefused = error instanceof Error && error.message === REFUSED;
          const kind = isRefused || signal.aborted ? 'connect' : 'timeout';
          const failed = { kind, detail: kind } as const;
          return { startedAtMs: wallMs, durationMs: durationMs(), response: null, error: failed, attributes: {} };
        } finally {
          endpoint.inFlight.delete(flight);
        }
      },
    };
  }

  #begin({ id, inFlight, pace }: LedgerEndpoint, flight: () => boolean): void {
    inFlight.add(flight);
    const most = [...inFlight].filter((isAlive) => isAlive()).length;
    if (pace.maxInFlight === null || most <= pace.maxInFlight) return;
    this.use.ledger.breaches.push(`${id} has ${most} attempts in flight, and allows ${pace.maxInFlight}`);
  }

  #receive(
    endpoint: LedgerEndpoint,
    sent: readonly Pick<Receipt, 'eventId' | 'body' | 'previous'>[],
    isBatch: boolean,
    answer: (answered: Answer) => void,
  ): void {
    const { time, random, trace } = this.use;
    const mood = this.moods.get(endpoint.mood) ?? 'answers';
    const fails = mood === 'fails' || (mood === 'fails at times' && random.chance(0.4));
    const status = fails ? 500 : 200;
    const atMs = time.nowMs;
    // Now and then a part of a batch is accepted.
    const isPart = isBatch && sent.length > 1 && this.use.answers.chance(0.3);
    const acknowledged = isPart ? this.use.answers.int(1, sent.length - 1) : sent.length;
    for (const [place, event] of sent.entries()) {
      const succeeded = !fails && mood !== 'hangs' && place < acknowledged;
      endpoint.receipts.push({ ...event, atMs, succeeded, place });
    }
    const ids = sent.map(({ eventId }) => eventId).join(', ');
    const part = isPart ? ` to ${acknowledged}` : '';
    trace.note(`${endpoint.id} is pushed ${ids} and ${mood === 'hangs' ? 'hangs' : `answers ${status}${part}`}`);
    if (mood === 'hangs') return;
    const waitMs = mood === 'is slow' ? random.between(200, 1_800) : random.between(0, 20);
    time.schedule(waitMs, this.#actor, () => {
      answer({ status, acknowledged });
    });
  }
}
