import { describe, expect, it } from '@jest/globals';
import { configOf, judgeTopic, misfitText, type FoundTopic } from './judge-topic.js';
import type { TopicPlan } from '../topics/topics.js';

const PLAN: TopicPlan = { topic: 't.log.v1', partitions: 3, retentionMs: 1_000, compacted: false, appendTime: true };

/** As on three brokers that are set up as they should be. */
function found(config: Readonly<Record<string, string>> = {}, topic: Partial<FoundTopic> = {}): FoundTopic {
  const sound = { ...configOf(PLAN), 'unclean.leader.election.enable': 'false', 'min.insync.replicas': '2' };
  return { partitions: 3, replicas: 3, config: new Map(Object.entries({ ...sound, ...config })), ...topic };
}

function judge(topic: FoundTopic, around: { readonly brokers?: number; readonly accepted?: number } = {}) {
  const verdict = judgeTopic(PLAN, topic, { brokers: around.brokers ?? 3, acceptedPartitions: around.accepted ?? 0 });
  return { refused: verdict.misfits.map((misfit) => misfitText(PLAN.topic, misfit)), risks: verdict.risks };
}

const SOUND = { refused: [], risks: [] };

describe('a topic of three brokers', () => {
  it('is sound with three replicas, two of them in sync', () => {
    expect(judge(found())).toEqual(SOUND);
  });

  it('is refused when a broker that lags could become leader, with the command', () => {
    const { refused } = judge(found({ 'unclean.leader.election.enable': 'true' }));
    expect(refused).toEqual([
      expect.stringMatching(
        /^t\.log\.v1 has unclean\.leader\.election\.enable=true.*; run: kafka-configs\.sh .* --entity-name t\.log\.v1 --add-config unclean\.leader\.election\.enable=false$/,
      ),
    ]);
  });

  it('is refused when one broker alone acknowledges, with the command', () => {
    const { refused } = judge(found({ 'min.insync.replicas': '1' }));
    expect(refused).toEqual([expect.stringMatching(/run: kafka-configs\.sh .* --add-config min\.insync\.replicas=2$/)]);
  });

  it('is at risk with fewer replicas, and works', () => {
    expect(judge(found({ 'min.insync.replicas': '1' }, { replicas: 1 }))).toEqual({
      refused: [],
      risks: ['is on 1 of 3 brokers, 3 are needed'],
    });
    expect(judge(found({}, { replicas: 2 })).risks).toEqual(['is on 2 of 3 brokers, 3 are needed']);
  });

  it('may be compacted or kept as planned only, by the clock that is planned', () => {
    expect(judge(found({ 'cleanup.policy': 'compact,delete' })).refused).toEqual([
      expect.stringContaining('has cleanup.policy=compact,delete, delete is needed'),
    ]);
    expect(judge(found({ 'message.timestamp.type': 'CreateTime' })).refused).toHaveLength(1);
    const other = { ...PLAN, takesCreateTime: true };
    const around = { brokers: 3, acceptedPartitions: 0 };
    expect(judgeTopic(other, found({ 'message.timestamp.type': 'CreateTime' }), around).misfits).toEqual([]);
    expect(judge(found({ 'retention.ms': '999' })).refused).toHaveLength(1);
    expect(judge(found({ 'max.message.bytes': '1000' })).refused).toHaveLength(1);
  });

  it.each([
    [{}, null],
    [{ 'retention.ms': '1001' }, 1_001],
    [{ 'retention.ms': '-1' }, -1],
  ])('is sound when it keeps records for longer, and the verdict says so: %j', (config, longerMs) => {
    const topic = found(config);
    expect(judge(topic)).toEqual(SOUND);
    expect(judgeTopic(PLAN, topic, { brokers: 3, acceptedPartitions: 0 }).longerMs).toBe(longerMs);
    const compacted = { ...PLAN, compacted: true };
    expect(judgeTopic(compacted, topic, { brokers: 3, acceptedPartitions: 0 }).longerMs).toBeNull();
  });

  it('is not judged by settings that its brokers do not report', () => {
    const { config } = found();
    const told = [...config].filter(([name]) => !/unclean|insync/.test(name));
    expect(judge(found({}, { config: new Map(told) }))).toEqual(SOUND);
  });
});

describe('a topic of fewer brokers', () => {
  it('is as its operator wants it: one replica on one broker', () => {
    const one = found({ 'min.insync.replicas': '1', 'unclean.leader.election.enable': 'true' }, { replicas: 1 });
    expect(judge(one, { brokers: 1 })).toEqual(SOUND);
  });

  it('is at risk on two brokers when one alone acknowledges', () => {
    const two = found({ 'min.insync.replicas': '1' }, { replicas: 2 });
    expect(judge(two, { brokers: 2 })).toEqual({
      refused: [],
      risks: [expect.stringContaining('min.insync.replicas=1 on 2 brokers')],
    });
  });
});

describe('a topic with another number of partitions', () => {
  it('is refused with fewer, whatever was accepted', () => {
    const { refused } = judge(found({}, { partitions: 2 }), { accepted: 5 });
    expect(refused).toEqual(['t.log.v1 has 2 partitions, PARTITIONS asks for 3']);
  });

  it('is refused with more, and names the way out', () => {
    const { refused } = judge(found({}, { partitions: 5 }));
    expect(refused).toEqual([expect.stringMatching(/has 5 partitions, PARTITIONS asks for 3.*gapless -- repair/)]);
  });

  it('is taken with as many as were accepted', () => {
    expect(judge(found({}, { partitions: 5 }), { accepted: 5 })).toEqual(SOUND);
    expect(judge(found({}, { partitions: 6 }), { accepted: 5 }).refused).toHaveLength(1);
  });
});
