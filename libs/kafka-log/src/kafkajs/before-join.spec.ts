import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { announceJoins, joinWithRetries, announcingAssigner, type Joining, type JoiningGroup } from './before-join.js';

const require = createRequire(import.meta.url);
const TOPIC = 'a-topic';

interface FetchingGroup {
  offsetManager: unknown;
  seek(place: { readonly topic: string; readonly partition: number; readonly offset: string }): void;
  fetch(nodeId: string): Promise<readonly { readonly messages: readonly { readonly offset: string }[] }[]>;
}

function placesOf(nextOffset: string): object {
  return {
    seek: () => Promise.resolve(),
    resolveOffsets: () => Promise.resolve(),
    committedOffsets: () => ({ [TOPIC]: { 0: '0' } }),
    nextOffset: () => nextOffset,
  };
}

/** A group of kafkajs that has partition 0 of a topic, and gets the same from every broker. */
function aGroup(answer: () => unknown, isControlRecord = false): FetchingGroup {
  const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as {
    readonly prototype: object;
  };
  const messages = [{ offset: '7', key: null, value: null, headers: {}, isControlRecord }];
  const SeekOffsets = require('kafkajs/src/consumer/seekOffsets.js') as new () => object;
  const fetch = async () => {
    await answer();
    const partitions = [{ partition: 0, highWatermark: '8', errorCode: 0, messages }];
    return { responses: [{ topicName: TOPIC, partitions }] };
  };
  const places = [{ topic: TOPIC, partitions: [0] }];
  return Object.assign(Object.create(prototype) as FetchingGroup, {
    cluster: { refreshMetadataIfNecessary: () => Promise.resolve(), findBroker: () => Promise.resolve({ fetch }) },
    subscriptionState: { assigned: () => places, isPaused: () => false },
    filterPartitionsByNode: () => places,
    getActiveTopicPartitions: () => ({ [TOPIC]: new Set([0]) }),
    logger: { debug: () => undefined },
    seekOffset: new SeekOffsets(),
    offsetManager: placesOf('7'),
    partitionsPerSubscribedTopic: null,
    preferredReadReplicasPerTopicPartition: {},
  });
}

describe('what a broker answers', () => {
  beforeAll(announceJoins);

  it('is handed over within an assignment', async () => {
    const [batch] = await aGroup(() => undefined).fetch('0');
    expect(batch?.messages.map(({ offset }) => offset)).toEqual(['7']);
  });

  it('is not handed over when the group was joined meanwhile: the committed offset may be before it', async () => {
    const group = aGroup(() => {
      group.offsetManager = placesOf('3');
    });
    expect(await group.fetch('0')).toEqual([]);
  });

  it('is handed over after a seek, but not to a fetch from before it, even if another has followed the seek', async () => {
    let answer: () => void = () => undefined;
    const answers = [new Promise<void>((resolve) => (answer = resolve))];
    const group = aGroup(() => answers.shift());
    const before = group.fetch('1');
    await setImmediate();
    group.seek({ topic: TOPIC, partition: 0, offset: '3' });
    expect(await group.fetch('2')).toHaveLength(1);
    answer();
    expect(await before).toEqual([]);
  });
});

describe('a batch that waits for a worker', () => {
  beforeAll(announceJoins);

  const { prototype } = require('kafkajs/src/consumer/runner.js') as {
    readonly prototype: object;
  };

  /** Lets kafkajs work on what was fetched, and returns what it did. */
  async function worked(group: FetchingGroup, batch: object): Promise<readonly string[]> {
    const done: string[] = [];
    const note = (what: string) => () => Promise.resolve(void done.push(what));
    const runner = Object.assign(Object.create(prototype) as { handleBatch(of: object): Promise<void> }, {
      running: true,
      consumerGroup: Object.assign(group, { resolveOffset: note('passed') }),
      instrumentationEmitter: { emit: () => undefined },
      retrier: (act: () => Promise<void>) => act(),
      processEachBatch: note('handled'),
      autoCommitOffsetsIfNecessary: () => Promise.resolve(),
      autoCommitOffsets: () => Promise.resolve(),
      heartbeat: () => Promise.resolve(),
      eachBatch: note('handled'),
    });
    await runner.handleBatch(batch);
    return done;
  }

  it.each([
    ['records', 'handled', false],
    ['only markers', 'passed', true],
  ])('with %s is worked on, but not after the group was joined again', async (_what, expected, isControlRecord) => {
    const group = aGroup(() => undefined, isControlRecord);
    const [batch] = await group.fetch('0');
    expect(await worked(group, batch ?? {})).toEqual([expected]);
    group.offsetManager = placesOf('3');
    expect(await worked(group, batch ?? {})).toEqual([]);
  });

  it('is not worked on after its partition was sought', async () => {
    const group = aGroup(() => undefined);
    const [batch] = await group.fetch('0');
    group.seek({ topic: TOPIC, partition: 1, offset: '3' });
    expect(await worked(group, batch ?? {})).toEqual(['handled']);
    group.seek({ topic: TOPIC, partition: 0, offset: '3' });
    expect(await worked(group, batch ?? {})).toEqual([]);
  });
});

describe('joining a group', () => {
  function aMember(joining: Partial<Joining>): JoiningGroup {
    const assigner = announcingAssigner({ release: () => Promise.resolve(), isWanted: () => true, ...joining });
    return {
      memberId: 'a member',
      assigners: [assigner({ cluster: undefined as never, groupId: 'a group', logger: undefined as never })],
      seekOffset: new Map(),
      // Two tries, as the retrier of kafkajs makes more of them.
      retrier: async (act) => {
        const bailed: unknown[] = [];
        const bail = (error: unknown) => bailed.push(error);
        await act(bail).catch(() => (bailed.length > 0 ? undefined : act(bail)));
        if (bailed.length > 0) throw bailed[0];
      },
      heartbeat: () => Promise.resolve(),
    };
  }

  it('is tried again when it fails, after one release', async () => {
    const steps: string[] = [];
    const member = aMember({
      release: () => {
        steps.push('release');
        return Promise.resolve();
      },
    });
    await joinWithRetries(member, () => {
      steps.push('join');
      return steps.length === 2 ? Promise.reject(new Error('no answer')) : Promise.resolve();
    });
    expect(steps).toEqual(['release', 'join', 'join']);
  });

  it('is not tried again for a consumer that stops', async () => {
    let joins = 0;
    const joined = joinWithRetries(aMember({ isWanted: () => false }), () => {
      joins++;
      return Promise.reject(new Error('no answer'));
    });
    await expect(joined).rejects.toThrow('no answer');
    expect(joins).toBe(1);
  });
});
