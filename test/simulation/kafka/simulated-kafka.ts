import type { AdminConfig, ConsumerConfig, Kafka, ProducerConfig } from 'kafkajs';
import type { VirtualTime } from '../engine/virtual-time.js';
import type { Broker } from './broker.js';
import { simulatedAdmin } from './simulated-admin.js';
import { SimulatedConsumer } from './simulated-consumer.js';
import { simulatedProducer } from './simulated-producer.js';

/** What kafkajs is to those who use it, on simulated brokers. */
export function simulatedKafka(broker: Broker, time: VirtualTime): Kafka {
  const kafka = {
    producer: (config?: ProducerConfig) => simulatedProducer(broker, time, config),
    consumer: (config: ConsumerConfig) => new SimulatedConsumer(broker, config).asConsumer,
    admin: ({ retry }: AdminConfig = {}) => simulatedAdmin(broker, { retries: 3, ...retry }),
  };
  return kafka as unknown as Kafka;
}
