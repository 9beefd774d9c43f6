import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const PRODUCE = 0;
const VERSION = 7;

/** Sends batches to a broker as they are, with no client library in between. One request at a time. */
export class RawProducer {
  private constructor(private readonly socket: Socket) {}

  /** @param broker `host:port` of the leader of the partitions */
  static async to(broker: string): Promise<RawProducer> {
    const [host, port] = broker.split(':');
    const socket = connect({ host: host ?? '', port: Number(port) });
    await once(socket, 'connect');
    return new RawProducer(socket);
  }

  close(): void {
    this.socket.destroy();
  }

  /** @returns the offset of the first record, or Kafka's number of the error */
  async send(
    topic: string,
    partition: number,
    batch: Buffer,
  ): Promise<{ readonly offset: number } | { readonly errorCode: number }> {
    this.socket.write(request(topic, partition, batch));
    const answer = await this.#answer();
    // Correlation id, number of topics, the topic, number of partitions, the partition.
    let at = 4 + 4;
    at += 2 + answer.readInt16BE(at) + 4 + 4;
    const errorCode = answer.readInt16BE(at);
    return errorCode === 0 ? { offset: Number(answer.readBigInt64BE(at + 2)) } : { errorCode };
  }

  async #answer(): Promise<Buffer> {
    let bytes = Buffer.alloc(0);
    while (bytes.length < 4 || bytes.length < 4 + bytes.readInt32BE(0)) {
      const [chunk] = (await once(this.socket, 'data')) as [Buffer];
      bytes = Buffer.concat([bytes, chunk]);
    }
    return bytes.subarray(4);
  }
}

function request(topic: string, partition: number, batch: Buffer): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.alloc(2 + value.length);
    bytes.writeInt16BE(value.length);
    bytes.write(value, 2);
    return bytes;
  };
  const int16 = (value: number) => {
    const bytes = Buffer.alloc(2);
    bytes.writeInt16BE(value);
    return bytes;
  };
  const int32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return bytes;
  };
  const head = [int16(PRODUCE), int16(VERSION), int32(1), text('raw')];
  // No transaction, acknowledged by all, 30 s, one topic with one partition.
  const body = [int16(-1), int16(-1), int32(30_000), int32(1), text(topic), int32(1), int32(partition)];
  const all = Buffer.concat([...head, ...body, int32(batch.length), batch]);
  return Buffer.concat([int32(all.length), all]);
}
