import {
  deliveryIdOf,
  parseEndpointId,
  parseEventId,
  parseOrgId,
  type DueAttempt,
  type EndpointId,
  type Seq,
} from '#libs/domain';
import { attemptRecord, readAttemptRecord, type NewRecord, type StoredRecord } from '#libs/kafka-log';

const ORG = parseOrgId('0f8fad5b-d9cb-469f-a165-70867728950e')!;

/** The nth endpoint. */
export function anEndpointId(nth = 1): EndpointId {
  return parseEndpointId(`whe_${String(nth).padStart(26, '0')}`)!;
}

/** The first attempt of the delivery of the nth event to an endpoint, unless `other` says otherwise. */
export function aDueAttempt(nth = 1, endpointId = anEndpointId(), other: Partial<DueAttempt> = {}): DueAttempt {
  const eventId = parseEventId(`evt_${String(nth).padStart(26, '0')}`)!;
  return {
    delivery: {
      deliveryId: deliveryIdOf(eventId, endpointId),
      endpointId,
      orgId: ORG,
      eventId,
      event: 'ticket.created',
      seq: nth as Seq,
      createdAtMs: 1_750_000_000_000,
    },
    run: 0,
    attempt: 1,
    dueAtMs: 1_750_000_000_000,
    traceparent: null,
    envelope: Buffer.from(`{"seq":${nth},"data":{ "n": 1.0 }}`),
    ...other,
  };
}

/** Returns the attempt as a topic holds it. */
export function storedAttempt(due: DueAttempt, offset: number, topic = 'attempts', partition = 0): StoredRecord {
  return { ...stored(attemptRecord(topic, due)), offset, partition, timestampMs: due.dueAtMs };
}

/** What a record of an attempts or retry topic stands for; `undefined` for what is no attempt. */
export function attemptOf(record: NewRecord): DueAttempt | undefined {
  return readAttemptRecord(stored(record));
}

function stored({ topic, key, value, headers }: NewRecord): StoredRecord {
  const texts = Object.entries(headers ?? {}).map(([name, text]) => [name, text.toString()] as const);
  return {
    topic,
    partition: 0,
    offset: 0,
    key: Buffer.from(key ?? ''),
    value,
    headers: Object.fromEntries(texts),
    timestampMs: 0,
  };
}
