import { expect, it } from '@jest/globals';
import { methodsOfKafkajs, wrap } from './patch.js';

class Broker {
  readonly address = 'a-broker';

  connect(): string {
    return this.address;
  }
}

it('replaces a method by one that may call it', () => {
  wrap(Broker.prototype, 'connect', (connect) => {
    return function (this: Broker) {
      return `${connect.call(this)}, again`;
    };
  });
  expect(new Broker().connect()).toBe('a-broker, again');
});

it('refuses at once to replace a method that kafkajs does not have', () => {
  const methods = methodsOfKafkajs('consumer/consumerGroup.js') as { renamed(): void };
  expect(() => {
    wrap(methods, 'renamed', () => () => undefined);
  }).toThrow('kafkajs has no ConsumerGroup.renamed');
  expect(() => methodsOfKafkajs('consumer/renamed.js')).toThrow('consumer/renamed.js');
});
