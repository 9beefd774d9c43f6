import { connect, type Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

const FETCH = 1;
/** A request's or an answer's size, which stands before it, and the number that connects the two. */
const SIZE_BYTES = 4;
const CORRELATION_BYTES = 4;

/** A partition whose fetches a broker answers with an error, as the clients see it that connect by `open`. */
export class FailingPartition {
  /** The code of the protocol; 0 while the partition can be read. */
  code = 0;

  constructor(
    private readonly topic: string,
    private readonly partition: number,
  ) {}

  readonly open: ISocketFactory = ({ host, port, onConnect }) => {
    const socket = connect({ host, port }, onConnect);
    const fetches = this.#watchFetches(socket);
    /** Bytes of an answer that come in later chunks. */
    let ahead = 0;
    socket.on('data', (chunk: Buffer) => {
      let at = ahead;
      while (at + SIZE_BYTES + CORRELATION_BYTES <= chunk.length) {
        if (fetches.delete(chunk.readInt32BE(at + SIZE_BYTES))) {
          this.#alter(chunk.subarray(at + SIZE_BYTES + CORRELATION_BYTES));
        }
        at += SIZE_BYTES + chunk.readInt32BE(at);
      }
      ahead = Math.max(0, at - chunk.length);
    });
    return socket;
  };

  /** Returns the correlation ids of fetches that are not answered. */
  #watchFetches(socket: Socket): Set<number> {
    const fetches = new Set<number>();
    const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
    socket.write = (...given: unknown[]) => {
      const [request] = given as [Buffer];
      if (request.readInt16BE(SIZE_BYTES) === FETCH) fetches.add(request.readInt32BE(SIZE_BYTES + 4));
      return write(...given);
    };
    return fetches;
  }

  /** @param answer of version 11, without what stands before each answer; the end may be missing */
  #alter(answer: Buffer): void {
    if (this.code === 0) return;
    let at = 4 + 2 + 4;
    const int32 = () => answer.readInt32BE((at += 4) - 4);
    for (let topics = int32(); topics > 0; topics--) {
      const length = answer.readInt16BE(at);
      const topic = answer.toString('utf8', at + 2, at + 2 + length);
      at += 2 + length;
      for (let partitions = int32(); partitions > 0 && at + 6 <= answer.length; partitions--) {
        if (int32() === this.partition && topic === this.topic) answer.writeInt16BE(this.code, at);
        at += 2 + 3 * 8;
        const aborted = int32();
        at += Math.max(0, aborted) * 16 + 4;
        const recordBytes = int32();
        at += Math.max(0, recordBytes);
      }
    }
  }
}
