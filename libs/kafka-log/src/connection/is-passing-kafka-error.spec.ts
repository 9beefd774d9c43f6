import { describe, expect, it } from '@jest/globals';
import { isPassingKafkaError } from './is-passing-kafka-error.js';
import { LASTING_KAFKA_ERRORS, PASSING_KAFKA_ERRORS } from '../testing/passing-kafka-errors.js';

describe('an error of Kafka', () => {
  it.each(PASSING_KAFKA_ERRORS.map((error) => [`${error.name}: ${error.message}`, error] as const))(
    'passes: %s',
    (_, error) => {
      expect(isPassingKafkaError(error)).toBe(true);
    },
  );

  it.each(LASTING_KAFKA_ERRORS.map((error) => [`${error.name}: ${error.message}`, error] as const))(
    'does not pass: %s',
    (_, error) => {
      expect(isPassingKafkaError(error)).toBe(false);
    },
  );

  it('passes as the cause of another one, and never when it says nothing of Kafka', () => {
    expect(isPassingKafkaError(new Error('no topics', { cause: PASSING_KAFKA_ERRORS[0] }))).toBe(true);
    expect(isPassingKafkaError(new Error('something else'))).toBe(false);
    expect(isPassingKafkaError(undefined)).toBe(false);
  });
});
