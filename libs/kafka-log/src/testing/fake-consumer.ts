import type { Kafka, PartitionAssigner, TopicPartitionOffsetAndMetadata } from 'kafkajs';
import { joinWithRetries, type JoiningGroup } from '../kafkajs/before-join.js';

export interface Commit {
  readonly places: readonly TopicPartitionOffsetAndMetadata[];
  /** Resolves the commit, or rejects it with the error. */
  readonly answer: (error?: Error) => void;
}

/** A consumer of kafkajs without brokers. It gets partition 0 of `topic` whenever it joins its group. */
export class FakeConsumer {
  readonly events = {
    REQUEST: 'request',
    HEARTBEAT: 'heartbeat',
    GROUP_JOIN: 'group_join',
    CRASH: 'crash',
    END_BATCH_PROCESS: 'end_batch_process',
  };
  readonly commits: Commit[] = [];
  /** The offsets that its user moved it to. */
  readonly seeks: number[] = [];
  isPaused = false;
  hasLeft = false;
  /** The end of its partition, as the brokers show it; without one they do not show the partition. */
  end: number | undefined;
  /** The size of the values of the records that it hands over. */
  valueBytes = 0;
  readonly #listeners = new Map<string, (event: unknown) => void>();
  #assigner: PartitionAssigner | undefined;
  #eachBatch: (payload: unknown) => Promise<void> = () => Promise.resolve();

  /** @param holdsCommits whether a commit waits until the test answers it */
  constructor(private readonly holdsCommits: () => boolean) {}

  /** A client that has no other consumer. */
  get kafka(): Kafka {
    const admin = {
      connect: this.connect,
      disconnect: this.connect,
      fetchTopicOffsets: () =>
        Promise.resolve(this.end === undefined ? [] : [{ partition: 0, low: '0', high: String(this.end) }]),
      fetchOffsets: () => Promise.resolve([]),
    };
    const consumer = ({ partitionAssigners: [assigner] }: { partitionAssigners: PartitionAssigner[] }) => {
      this.#assigner = assigner;
      return this;
    };
    return { consumer, admin: () => admin } as unknown as Kafka;
  }

  get committed(): readonly string[] {
    return this.commits.flatMap(({ places }) => places.map(({ offset }) => offset));
  }

  on(name: string, listener: (event: unknown) => void): void {
    this.#listeners.set(name, listener);
  }

  connect = () => Promise.resolve();
  subscribe = () => Promise.resolve();
  disconnect = () => {
    this.hasLeft = true;
    return Promise.resolve();
  };

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  seek({ offset }: { readonly offset: string }): void {
    this.seeks.push(Number(offset));
  }

  async run({ eachBatch }: { eachBatch: (payload: unknown) => Promise<void> }): Promise<void> {
    this.#eachBatch = eachBatch;
    await this.join();
  }

  /** Joins the group, as after a rebalance. @param answer resolves once the group assigns partitions */
  async join(answer: Promise<void> = Promise.resolve()): Promise<void> {
    const group = {
      memberId: 'member',
      assigners: [this.#assigner?.({} as Parameters<PartitionAssigner>[0]) ?? {}],
      seekOffset: { clear: () => undefined },
      retrier: (act: (bail: () => void) => Promise<void>) => act(() => undefined),
      heartbeat: () => Promise.resolve(),
    } as unknown as JoiningGroup;
    await joinWithRetries(group, () => answer);
    this.emit('group_join', { memberAssignment: { topic: [0] } });
  }

  emit(name: string, payload: unknown = {}): void {
    this.#listeners.get(name)?.({ payload });
  }

  commitOffsets(places: readonly TopicPartitionOffsetAndMetadata[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const answer = (error?: Error) => {
        if (error === undefined) resolve();
        else reject(error);
      };
      this.commits.push({ places, answer });
      if (!this.holdsCommits()) resolve();
    });
  }

  /** Hands over a batch of the records at these offsets. */
  handOver(...offsets: readonly number[]): Promise<void> {
    const messages = offsets.map((offset) => ({
      offset: String(offset),
      key: null,
      value: Buffer.alloc(this.valueBytes),
      headers: {},
      timestamp: '0',
      attributes: 0,
    }));
    return this.#eachBatch({
      batch: {
        topic: 'topic',
        partition: 0,
        messages,
        lastOffset: () => String(offsets.at(-1)),
        highWatermark: '100',
      },
      isStale: () => false,
      isRunning: () => true,
      resolveOffset: () => undefined,
      heartbeat: () => Promise.resolve(),
    });
  }
}
