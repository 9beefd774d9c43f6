import {
  deadLetterRecord,
  unreadableBatchRecord,
  type NewRecord,
  type StoredRecord,
  type TopicNames,
} from '#libs/kafka-log';

/** The dead letter for a record in the place of an attempt. */
export function notAnAttempt({ deadLetter }: TopicNames, record: StoredRecord): NewRecord {
  if (record.unreadable !== undefined) return unreadableBatchRecord(deadLetter, record, record.unreadable);
  return deadLetterRecord(deadLetter, record, 'malformed_request', 'not an attempt');
}
