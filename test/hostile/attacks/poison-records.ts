import kafkajs from 'kafkajs';
import { hostileRecords } from '../../support/hostile-records.js';
import { recordBatch, type RawRecord } from '../../support/record-batch.js';
import type { Attack, Attacker } from '../attack.js';

/** Writes those records of the table whose names fit, each as a batch of its own. */
async function send(attacker: Attacker, fits: (name: string) => boolean): Promise<string> {
  const { topic, partition, producer } = attacker.inbox;
  let [written, refused] = [0, 0];
  for (const { name, records, packing } of hostileRecords(attacker.orgId, Date.now())) {
    if (!fits(name)) continue;
    const answer = await producer.send(topic, partition, recordBatch(records(), Date.now(), packing));
    if ('offset' in answer) written++;
    else refused++;
  }
  return `${written} written, ${refused} refused by the broker`;
}

const poison = (name: string, description: string, fits: (record: string) => boolean): Attack => ({
  name,
  description,
  isPoison: true,
  strike: (attacker) => send(attacker, fits),
});

const NULL_HEADERS = (name: string) => name.includes('without a value');
const PACKED = (name: string) => name.startsWith('compressed by');
const LARGE = (name: string) => name === '8 MiB less 200 bytes';
const BOMB = (name: string) => name.includes('unpacks to');
const LONG_KEYS = (name: string) => name.startsWith('a key of');
const NAMED = [NULL_HEADERS, PACKED, LARGE, BOMB, LONG_KEYS];

export const poisonRecords: readonly Attack[] = [
  poison('null-headers', 'headers without a value', NULL_HEADERS),
  poison('compression', 'batches in gzip, snappy, lz4 and zstd', PACKED),
  poison('large-record', 'a record of 8 MiB less 200 bytes', LARGE),
  poison('gzip-bomb', 'gzip that unpacks to 300 MiB', BOMB),
  poison('long-keys', 'keys of 900 KB and 7 MiB', LONG_KEYS),
  {
    name: 'open-transaction',
    description: 'a transaction in each partition of the inbox that nobody ends',
    isPoison: true,
    async strike({ brokers, inbox, orgId, afterwards }) {
      const kafka = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.NOTHING });
      // As long as the broker allows.
      const producer = kafka.producer({
        transactionalId: `open-${orgId}`,
        transactionTimeout: 3_000,
        retry: { retries: 0 },
      });
      await producer.connect();
      afterwards(() => producer.disconnect());
      const transaction = await producer.transaction();
      for (let partition = 0; partition < inbox.partitions; partition++) {
        await transaction.send({ topic: inbox.topic, messages: [{ partition, key: orgId, value: '{}' }] });
      }
      return `${inbox.partitions} partitions with an open transaction`;
    },
  },
  {
    name: 'wrong-partition',
    description: 'records whose key belongs to another partition',
    isPoison: true,
    async strike({ inbox, orgId }) {
      const record: RawRecord = { key: Buffer.from(orgId), value: Buffer.from('{}') };
      for (let partition = 0; partition < inbox.partitions; partition++) {
        if (partition === inbox.partition) continue;
        await inbox.producer.send(inbox.topic, partition, recordBatch([record, record], Date.now()));
      }
      return `${2 * (inbox.partitions - 1)} written`;
    },
  },
  poison('other-records', 'all others of the table', (name) => NAMED.every((isNamed) => !isNamed(name))),
];
