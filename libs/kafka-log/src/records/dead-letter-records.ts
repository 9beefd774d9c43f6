import type { NewRecord, StoredRecord } from '../record.js';

/** A record that could not be read: as it came, with the reason and where it stood (decisions, section 11: Shapes). */
export function deadLetterRecord(topic: string, record: StoredRecord, code: string, detail: string): NewRecord {
  return {
    topic,
    key: record.key,
    value: record.value,
    headers: {
      ...record.headers,
      'x-error-code': code,
      'x-error-detail': detail,
      'x-origin': `${record.topic}/${record.partition}/${record.offset}`,
    },
  };
}
