import { describe, expect, it } from '@jest/globals';
import { DirectoryHeldError, PortTakenError, relaunchReason } from './launch-errors.js';

describe('the words of a server that ended at its start', () => {
  it('say that a port is taken, and Kafka says which', () => {
    const kafka = relaunchReason(
      'ERROR KafkaRaftServer: Fatal error\nKafkaException: Socket server failed to bind to 127.0.0.1:9092: Address already in use.\n',
      'Kafka ended with exit code 1',
    );
    expect(kafka).toBeInstanceOf(PortTakenError);
    expect(kafka).toMatchObject({ message: 'Kafka ended with exit code 1', port: 9092 });
    const postgres = relaunchReason(
      'LOG:  could not bind IPv4 address "127.0.0.1": Address already in use',
      'it ended',
    );
    expect(postgres).toBeInstanceOf(PortTakenError);
    expect(postgres).toMatchObject({ port: undefined });
  });

  it.each([
    'KafkaException: Failed to acquire lock on file .lock in /data/kafka/records.',
    'FATAL:  pre-existing shared memory block (key 5432001, ID 3) is still in use',
  ])('say that a killed process still holds the directory: %s', (output) => {
    expect(relaunchReason(output, 'it ended')).toBeInstanceOf(DirectoryHeldError);
  });

  it('say of anything else that another launch does not help', () => {
    expect(relaunchReason('FATAL:  could not open file "PG_VERSION"', 'it ended')).toBeUndefined();
    expect(relaunchReason('', 'it ended')).toBeUndefined();
  });
});
