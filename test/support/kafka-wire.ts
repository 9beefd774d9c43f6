import { Socket } from 'node:net';

/** Kafka's numbers of the requests that a client sends in normal operation. */
const API_NAMES: Readonly<Record<number, string>> = {
  0: 'Produce',
  1: 'Fetch',
  2: 'ListOffsets',
  3: 'Metadata',
  8: 'OffsetCommit',
  9: 'OffsetFetch',
  10: 'FindCoordinator',
  11: 'JoinGroup',
  12: 'Heartbeat',
  13: 'LeaveGroup',
  14: 'SyncGroup',
};

/** A request's size stands before it. */
const SIZE_BYTES = 4;
/** From this version on the request is encoded otherwise. */
const FLEXIBLE_PRODUCE = 9;

/** What the Kafka clients of this process have sent, counted where it leaves the process: whatever the client library is. */
export interface WireCounts {
  /** Requests by `<client id> <name>`. */
  readonly requests: ReadonlyMap<string, number>;
  /** Bytes of record batches by topic. */
  readonly producedBytes: ReadonlyMap<string, number>;
}

export interface KafkaWire {
  /** What was sent so far. */
  counts(): WireCounts;
  /** Counts no more. */
  close(): void;
}

/** Counts from now on. One at a time. */
export function watchKafkaWire(): KafkaWire {
  const requests = new Map<string, number>();
  const producedBytes = new Map<string, number>();
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the socket that it was called on
  const write = Socket.prototype.write as (this: Socket, ...given: unknown[]) => boolean;
  Socket.prototype.write = function writeAndCount(this: Socket, ...given: unknown[]): boolean {
    const request = Buffer.isBuffer(given[0]) ? readRequest(given[0]) : undefined;
    if (request !== undefined) {
      add(requests, `${request.clientId} ${request.name}`, 1);
      for (const { topic, bytes } of request.produced) add(producedBytes, topic, bytes);
    }
    return write.apply(this, given);
  };
  return {
    counts: () => ({ requests: new Map(requests), producedBytes: new Map(producedBytes) }),
    close: () => {
      Socket.prototype.write = write;
    },
  };
}

interface WireRequest {
  readonly name: string;
  readonly clientId: string;
  readonly produced: readonly { readonly topic: string; readonly bytes: number }[];
}

/** `undefined` for what is no whole Kafka request. */
function readRequest(chunk: Buffer): WireRequest | undefined {
  if (chunk.length < SIZE_BYTES + 10 || chunk.readInt32BE(0) !== chunk.length - SIZE_BYTES) return undefined;
  const reader = new WireReader(chunk, SIZE_BYTES);
  const api = reader.int16();
  const version = reader.int16();
  reader.int32();
  const clientId = reader.string();
  const name = API_NAMES[api];
  if (name === undefined || clientId === null) return undefined;
  if (name === 'Produce' && version >= FLEXIBLE_PRODUCE)
    throw new Error(`Produce version ${version} cannot be read here`);
  return { name, clientId, produced: name === 'Produce' ? readProduced(reader, version) : [] };
}

function readProduced(reader: WireReader, version: number): { topic: string; bytes: number }[] {
  const produced: { topic: string; bytes: number }[] = [];
  const TRANSACTIONAL_ID_SINCE = 3;
  if (version >= TRANSACTIONAL_ID_SINCE) reader.string();
  reader.int16();
  reader.int32();
  for (let topics = reader.int32(); topics > 0; topics--) {
    const topic = reader.string() ?? '';
    for (let partitions = reader.int32(); partitions > 0; partitions--) {
      reader.int32();
      const bytes = reader.int32();
      reader.skip(bytes);
      produced.push({ topic, bytes });
    }
  }
  return produced;
}

class WireReader {
  constructor(
    private readonly bytes: Buffer,
    private at: number,
  ) {}

  int16(): number {
    this.at += 2;
    return this.bytes.readInt16BE(this.at - 2);
  }

  int32(): number {
    this.at += 4;
    return this.bytes.readInt32BE(this.at - 4);
  }

  string(): string | null {
    const length = this.int16();
    if (length < 0) return null;
    this.skip(length);
    return this.bytes.toString('utf8', this.at - length, this.at);
  }

  skip(bytes: number): void {
    this.at += bytes;
  }
}

function add(counts: Map<string, number>, key: string, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}
