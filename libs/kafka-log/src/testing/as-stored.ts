import { toMessage, toStoredRecord, type NewRecord, type StoredRecord } from '../records/record.js';

/** Returns the record as a reader gets it from partition 2, at offset 7. */
export function asStored(record: Omit<NewRecord, 'topic'> & { readonly topic?: string }): StoredRecord {
  const { key, value, headers } = toMessage({ topic: 'topic', ...record });
  const bytes = Object.entries(headers ?? {}).map(([name, text]) => [name, Buffer.from(text as string | Buffer)]);
  return toStoredRecord(record.topic ?? 'topic', 2, {
    key: typeof key === 'string' ? Buffer.from(key) : (key ?? null),
    value: value as Buffer | null,
    headers: Object.fromEntries(bytes) as Record<string, Buffer>,
    offset: '7',
    timestamp: '1750000000000',
    attributes: 0,
  });
}
