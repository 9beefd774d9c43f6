import type { Message } from 'kafkajs';
import type { TopicPlan } from '#libs/kafka-log';
import { Actor, EPOCH_MS, type ScheduledEvent, type VirtualTime } from '../engine/virtual-time.js';
import type { Answer, Network } from '../engine/network.js';
import type { Random } from '../engine/random.js';
import type { Trace } from '../engine/trace.js';
import { BrokerError, connectionBroken } from './broker-errors.js';
import { ConsumerGroup } from './consumer-group.js';
import { PartitionLog, type KeptRecord, type Numbering } from './partition-log.js';

/** Longest batch of a partition that a fetch is given. */
const FETCH_RECORDS = 200;

export interface FetchPlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface FetchedPartition extends FetchPlace {
  readonly records: readonly KeptRecord[];
  readonly highWatermark: number;
}

export interface FetchRequest {
  readonly places: readonly FetchPlace[];
  /** Up to how long what comes is gathered. */
  readonly gatherMs: number;
  /** For how long the fetch waits while nothing comes. */
  readonly idleMs: number;
  /** Of a member of this group: woken when it rebalances. */
  readonly groupId: string | null;
}

export interface ProducedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly Message[];
  readonly numbering: Numbering | undefined;
}

/** Returns the part of a name that processes with members in one group share. */
function groupOf(name: string): string {
  return name.replace(/~\d+/, '');
}

interface WaitingFetch {
  readonly request: FetchRequest;
  readonly answer: Answer<readonly FetchedPartition[]>;
  deadline: ScheduledEvent;
}

interface BrokerDependencies {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly network: Network;
  readonly trace: Trace;
}

/** The brokers, as one: topics, consumer groups, and what can go wrong with them. */
export class Broker {
  readonly actor = new Actor('broker');
  isUp = true;
  /** How often all connections to it broke. */
  crashes = 0;
  /** Groups whose offsets were lost at some time. */
  readonly lostOffsets = new Set<string>();
  /** Groups that are given nothing, as if they were far behind. */
  readonly withheld = new Set<string>();
  /** How far records were ever handed over, by group and partition. */
  readonly #handedOver = new Map<string, number>();
  #topics = new Map<string, readonly PartitionLog[]>();
  #groups = new Map<string, ConsumerGroup>();
  #waiting = new Set<WaitingFetch>();
  #producers = 0;

  constructor(private readonly use: BrokerDependencies) {}

  create(plans: readonly TopicPlan[]): void {
    for (const { topic, partitions, appendTime } of plans) {
      this.#topics.set(
        topic,
        Array.from({ length: partitions }, (_, partition) => new PartitionLog(topic, partition, appendTime)),
      );
    }
  }

  get topics(): readonly string[] {
    return [...this.#topics.keys()];
  }

  partitionsOf(topic: string): readonly PartitionLog[] {
    const partitions = this.#topics.get(topic);
    if (partitions === undefined) throw new BrokerError('UNKNOWN_TOPIC_OR_PARTITION', true);
    return partitions;
  }

  log(topic: string, partition: number): PartitionLog {
    const log = this.partitionsOf(topic)[partition];
    if (log === undefined) throw new BrokerError('UNKNOWN_TOPIC_OR_PARTITION', true);
    return log;
  }

  /** @param name of the group, as a process has it: see `SimulatedProcess` */
  group(name: string): ConsumerGroup {
    const id = groupOf(name);
    let group = this.#groups.get(id);
    if (group === undefined) {
      group = new ConsumerGroup(id, {
        time: this.use.time,
        broker: this.actor,
        trace: this.use.trace,
        partitionsOf: (topic) => this.partitionsOf(topic).length,
        onRebalance: (groupId) => {
          this.#wakeMembers(groupId);
        },
      });
      this.#groups.set(id, group);
    }
    return group;
  }

  /** Carries a client's request out, unless the broker is away. */
  request<T>(name: string, timeoutMs: number, handle: (answer: Answer<T>) => void): Promise<T> {
    return this.use.network.request<T>(this.actor, name, { timeoutMs, broken: connectionBroken }, (answer) => {
      if (!this.isUp) {
        answer.reject(connectionBroken());
        return;
      }
      try {
        handle(answer);
      } catch (error) {
        answer.reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  /** @returns the offset of the first record of each batch */
  produce(batches: readonly ProducedBatch[], producerMs: number): readonly number[] {
    return batches.map(({ topic, partition, messages, numbering }) => {
      const log = this.log(topic, partition);
      const brokerMs = Math.floor(EPOCH_MS + this.use.time.nowMs);
      const base = log.append(messages, { brokerMs, producerMs }, numbering);
      if (base === 'out of order') throw new BrokerError('OUT_OF_ORDER_SEQUENCE_NUMBER', false);
      this.use.trace.note(`${topic}/${partition} holds ${messages.length} more from ${base} on`);
      this.#arrived(topic, partition);
      return base;
    });
  }

  newProducerId(): number {
    return ++this.#producers;
  }

  fetch(request: FetchRequest, answer: Answer<readonly FetchedPartition[]>): void {
    for (const { topic, partition, offset } of request.places) {
      const log = this.log(topic, partition);
      if (offset < log.start || offset > log.end) {
        throw Object.assign(new BrokerError('OFFSET_OUT_OF_RANGE', false), { topic, partition });
      }
    }
    const hasRecords =
      !this.#isWithheld(request) &&
      request.places.some(({ topic, partition, offset }) => offset < this.log(topic, partition).end);
    const waitMs = hasRecords ? this.#gatherMs(request) : request.idleMs;
    if (waitMs === 0) {
      answer.resolve(this.#read(request));
      return;
    }
    const waiting: WaitingFetch = { request, answer, deadline: this.#deadline(waitMs, () => waiting) };
    this.#waiting.add(waiting);
  }

  handedOver(groupId: string, topic: string, partition: number): number {
    return this.#handedOver.get(`${groupId} ${topic}/${partition}`) ?? 0;
  }

  withhold(groupId: string): void {
    this.withheld.add(groupId);
  }

  giveAgain(groupId: string): void {
    this.withheld.delete(groupId);
    this.#wakeMembers(groupId);
  }

  crash(): void {
    this.isUp = false;
    this.crashes++;
    this.#waiting.clear();
    this.use.network.break(this.actor, connectionBroken);
  }

  start(): void {
    this.isUp = true;
  }

  forgetOffsets(groupId: string): void {
    this.lostOffsets.add(groupId);
    this.group(groupId).offsets.clear();
  }

  deleteGroup(groupId: string): void {
    if (this.#groups.get(groupId)?.isEmpty === true) this.#groups.delete(groupId);
  }

  /** Of groups of the service: readers have groups of their own for a moment. */
  get groupIds(): readonly string[] {
    return [...this.#groups.keys()].filter((id) => !/-(reader|follower)-/.test(id));
  }

  #gatherMs({ gatherMs }: FetchRequest): number {
    return gatherMs === 0 ? 0 : this.use.random.between(0, gatherMs);
  }

  #deadline(waitMs: number, waiting: () => WaitingFetch): ScheduledEvent {
    return this.use.time.schedule(waitMs, this.actor, () => {
      this.#finish(waiting());
    });
  }

  #finish(waiting: WaitingFetch): void {
    if (!this.#waiting.delete(waiting)) return;
    waiting.deadline.run = null;
    waiting.answer.resolve(this.#read(waiting.request));
  }

  #arrived(topic: string, partition: number): void {
    for (const waiting of this.#waiting) {
      if (this.#isWithheld(waiting.request)) continue;
      if (!waiting.request.places.some((place) => place.topic === topic && place.partition === partition)) continue;
      this.#hasten(waiting, this.#gatherMs(waiting.request));
    }
  }

  /** A member hears of a rebalance with its next heartbeat, not when its fetch happens to end. */
  #wakeMembers(groupId: string): void {
    for (const waiting of this.#waiting) {
      if (waiting.request.groupId !== null && groupOf(waiting.request.groupId) === groupId)
        this.#hasten(waiting, this.use.random.between(0, 1_000));
    }
  }

  #hasten(waiting: WaitingFetch, waitMs: number): void {
    if (this.use.time.nowMs + waitMs >= waiting.deadline.atMs) return;
    waiting.deadline.run = null;
    waiting.deadline = this.#deadline(waitMs, () => waiting);
  }

  #isWithheld({ groupId }: FetchRequest): boolean {
    return groupId !== null && this.withheld.has(groupOf(groupId));
  }

  #read(request: FetchRequest): readonly FetchedPartition[] {
    const { places, groupId } = request;
    const isWithheld = this.#isWithheld(request);
    // Batches end where a broker likes.
    const limit = this.use.random.chance(0.2) ? this.use.random.int(1, 10) : FETCH_RECORDS;
    return places.map((place) => {
      const log = this.log(place.topic, place.partition);
      const records = isWithheld ? [] : log.read(place.offset, limit);
      const last = records.at(-1);
      if (last !== undefined && groupId !== null) {
        const key = `${groupOf(groupId)} ${place.topic}/${place.partition}`;
        this.#handedOver.set(key, Math.max(this.#handedOver.get(key) ?? 0, last.offset + 1));
      }
      return { ...place, records, highWatermark: log.end };
    });
  }
}
