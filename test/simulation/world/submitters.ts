import { setTimeout as delay } from 'node:timers/promises';
import type { Kafka, Producer } from 'kafkajs';
import { GaplessError, type OrgId } from '#libs/domain';
import { partitionOf } from '#libs/kafka-log';
import type { Random } from '../engine/random.js';
import type { Trace } from '../engine/trace.js';
import { Actor, type VirtualTime } from '../engine/virtual-time.js';
import { submittedJson, type EventSource } from './event-source.js';
import type { Ledger, Submitted } from './ledger.js';
import type { SimulatedProcess } from './simulated-process.js';

export interface SubmittersDependencies {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  readonly ledger: Ledger;
  readonly source: EventSource;
  readonly orgIds: readonly OrgId[];
  readonly partitions: number;
  readonly inbox: string;
  readonly kafka: Kafka;
  /** The processes that answer HTTP just now. */
  readonly apis: () => readonly SimulatedProcess[];
}

type Event = Omit<Submitted, 'acceptedAtMs'>;

/** Services that submit over HTTP: each request until it is answered 202, some of them again later. */
export class HttpSubmitter {
  readonly #actor: Actor;

  constructor(
    name: string,
    private readonly use: SubmittersDependencies,
  ) {
    this.#actor = new Actor(name);
  }

  /** @param atMs when it submits events @param repeatAfterMs when it submits them again after the 202 */
  submit(atMs: number, events: readonly Event[], repeatsAfterMs: readonly number[]): void {
    const { time, ledger } = this.use;
    for (const event of events) ledger.submit(event);
    ledger.open++;
    time.schedule(atMs - time.nowMs, this.#actor, () => {
      void this.#untilAccepted(events, repeatsAfterMs).finally(() => {
        ledger.open--;
      });
    });
  }

  async #untilAccepted(events: readonly Event[], repeatsAfterMs: readonly number[]): Promise<void> {
    const body = Buffer.from(`{"events":[${events.map(submittedJson).join(',')}]}`);
    for (const waitMs of [0, ...repeatsAfterMs]) {
      if (waitMs > 0) await delay(waitMs);
      await this.#post(events, body);
    }
  }

  async #post(events: readonly Event[], body: Buffer): Promise<void> {
    const { time, random, trace, ledger } = this.use;
    for (let failures = 0; ; failures++) {
      const apis = this.use.apis();
      const api = apis.length === 0 ? undefined : random.pick(apis);
      try {
        if (api === undefined) throw new Error('no api answers');
        trace.note(`posts ${events.map(({ id }) => id.slice(-6)).join(' ')} to ${api.actor.name}`);
        await api.post(body);
        trace.note(`is answered 202 for ${events.map(({ id }) => id.slice(-6)).join(' ')}`);
        for (const { id } of events) ledger.accept(id, time.nowMs);
        return;
      } catch (error) {
        // What the api refuses as invalid would be refused for ever.
        if (error instanceof GaplessError && error.code !== 'unavailable') {
          ledger.breaches.push(`the api refused a valid request: ${error.message}`);
          return;
        }
        trace.note(`is not answered: ${error instanceof Error ? error.message : String(error)}`);
        await delay(random.between(50, 200) * 2 ** Math.min(failures, 5));
      }
    }
  }
}

/** A service that produces to the inbox itself, and produces again what it has no acknowledgement for. */
export class InboxProducer {
  readonly #actor: Actor;
  #producer: Producer | null = null;

  constructor(
    name: string,
    private readonly use: SubmittersDependencies,
  ) {
    this.#actor = new Actor(name);
  }

  submit(atMs: number, event: Event, repeatsAfterMs: readonly number[]): void {
    const { time, ledger } = this.use;
    ledger.submit(event);
    ledger.open++;
    time.schedule(atMs - time.nowMs, this.#actor, () => {
      void this.#untilAcknowledged(event, repeatsAfterMs).finally(() => {
        ledger.open--;
      });
    });
  }

  /** Something that is no event: it belongs to the dead letters, and to nothing else. */
  produceRubbish(atMs: number, orgId: OrgId): void {
    const { time, ledger } = this.use;
    ledger.open++;
    time.schedule(atMs - time.nowMs, this.#actor, () => {
      void this.#produce(orgId, Buffer.from('{"event":"no'), undefined).finally(() => {
        ledger.open--;
      });
    });
  }

  /** A client with another partitioner than Kafka's own: its record stands where its org's events do not. */
  produceAstray(atMs: number, event: Event): void {
    const { time, ledger, partitions } = this.use;
    ledger.open++;
    time.schedule(atMs - time.nowMs, this.#actor, () => {
      const astray = (partitionOf(event.orgId, partitions) + 1) % partitions;
      void this.#produce(event.orgId, Buffer.from(submittedJson(event)), astray).finally(() => {
        ledger.open--;
      });
    });
  }

  async #untilAcknowledged(event: Event, repeatsAfterMs: readonly number[]): Promise<void> {
    const { time, ledger } = this.use;
    for (const waitMs of [0, ...repeatsAfterMs]) {
      if (waitMs > 0) await delay(waitMs);
      await this.#produce(event.orgId, Buffer.from(submittedJson(event)), undefined);
      ledger.accept(event.id, time.nowMs);
    }
  }

  async #produce(key: string, value: Buffer, partition: number | undefined): Promise<void> {
    const { random, trace, inbox, partitions } = this.use;
    this.#producer ??= this.use.kafka.producer({ retry: { retries: 3, initialRetryTime: 100 } });
    for (;;) {
      try {
        const place = partition ?? partitionOf(key, partitions);
        await this.#producer.send({ topic: inbox, messages: [{ key, value, partition: place }] });
        return;
      } catch (error) {
        trace.note(`has no acknowledgement: ${error instanceof Error ? error.message : String(error)}`);
        await delay(random.between(100, 1_000));
      }
    }
  }
}
