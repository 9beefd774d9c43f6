import { connect } from 'node:net';
import { errorCode } from '#libs/domain';
import type { WhoAnswers } from '../servers/who-answers.js';

const METADATA_API = 3;
const METADATA_VERSION = 5;
const PROBE_TIMEOUT_MS = 1000;

/** A Metadata request that asks for the brokers and for no topic. */
function metadataRequest(): Buffer {
  const body = Buffer.alloc(4 + 2 + 2 + 4 + 2 + 4 + 1);
  let at = body.writeInt32BE(body.length - 4, 0);
  at = body.writeInt16BE(METADATA_API, at);
  at = body.writeInt16BE(METADATA_VERSION, at);
  at = body.writeInt32BE(1, at); // correlation id
  at = body.writeInt16BE(-1, at); // no client id
  at = body.writeInt32BE(0, at); // topics: none
  body.writeInt8(0, at); // create no topic
  return body;
}

/** The cluster as a Metadata response describes it. */
interface KafkaAnswer {
  readonly clusterId: string;
  readonly brokers: readonly { readonly nodeId: number; readonly rack: string }[];
}

/** The offset of the count of brokers: it follows size, correlation id and throttle time, four bytes each. */
const COUNT_AT = 12;

/** Returns `undefined` while the response is incomplete, or if it is not from Kafka. */
function readAnswer(bytes: Buffer): KafkaAnswer | undefined {
  if (bytes.length < 4 || bytes.length < 4 + bytes.readInt32BE(0)) return undefined;
  let at = COUNT_AT;
  const int32 = (): number => bytes.readInt32BE((at += 4) - 4);
  const text = (): string => {
    // A null string has length -1.
    const length = Math.max(0, bytes.readInt16BE((at += 2) - 2));
    return bytes.toString('utf8', at, (at += length));
  };
  try {
    const brokers = Array.from({ length: int32() }, () => {
      const nodeId = int32();
      text(); // host
      int32(); // port
      return { nodeId, rack: text() };
    });
    return { brokers, clusterId: text() };
  } catch (error) {
    // The response ends too early.
    if (errorCode(error).startsWith('ERR_')) return undefined;
    throw error;
  }
}

/**
 * Asks the broker on the loopback port for its cluster. Returns `undefined` if no complete response arrives in time.
 */
function askKafka(port: number): Promise<KafkaAnswer | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: PROBE_TIMEOUT_MS });
    let bytes = Buffer.alloc(0);
    const settle = (answer: KafkaAnswer | undefined): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => socket.write(metadataRequest()));
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      const answer = readAnswer(bytes);
      if (answer !== undefined) settle(answer);
    });
    for (const event of ['timeout', 'error', 'close']) {
      socket.once(event, () => {
        settle(undefined);
      });
    }
  });
}

/** Identifies our own brokers. */
export interface KafkaIdentity {
  /** The cluster id in the data directory. */
  readonly clusterId: string;
  readonly nodeId: number;
  /** The id of this launch: `broker.rack` of its settings. */
  readonly launchId: string;
}

/**
 * Says who answers on the loopback port. The broker is ours once its controller has admitted the process that we
 * launched. A broker of another cluster is a stranger, even with the same node id.
 */
export async function whoAnswersKafka(port: number, ours: KafkaIdentity): Promise<WhoAnswers> {
  const answer = await askKafka(port);
  // A broker that is not admitted yet answers with an empty list, and may not know its cluster.
  if (answer === undefined || answer.clusterId === '') return 'nobody';
  if (answer.clusterId !== ours.clusterId) return 'stranger';
  const isIn = answer.brokers.some(({ nodeId, rack }) => nodeId === ours.nodeId && rack === ours.launchId);
  // The entry may still be of the previous process, or of a copy of our directory.
  return isIn ? 'ours' : 'nobody';
}

/** Whether this node of the cluster answers on the loopback port, whichever launch it is from. */
export async function kafkaAnswers(port: number, nodeId: number): Promise<boolean> {
  const answer = await askKafka(port);
  return answer?.brokers.some((broker) => broker.nodeId === nodeId) ?? false;
}
