import { describe, expect, it } from '@jest/globals';
import { Kafka } from 'kafkajs';
import { KafkaSink } from './kafka-sink.js';

const kafka = new Kafka({ brokers: ['127.0.0.1:1'] });

describe('a sink to Kafka', () => {
  it.each([Number.NaN, 0, -1, 1.5])('is not made for %s partitions', (partitions) => {
    expect(() => new KafkaSink({ kafka, partitions })).toThrow(
      new RangeError(`partitions has to be an integer from 1 on, but is ${partitions}`),
    );
  });

  it.each([undefined, 1, 12])('is made for %s partitions', (partitions) => {
    expect(() => new KafkaSink({ kafka, ...(partitions === undefined ? {} : { partitions }) })).not.toThrow();
  });
});
