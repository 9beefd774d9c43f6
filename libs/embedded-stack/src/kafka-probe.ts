import { connect } from 'node:net';
import { errorCode } from './error-code.js';
import type { WhoAnswers } from './who-answers.js';

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

/** The cluster in a Metadata response. */
interface KafkaAnswer {
  readonly clusterId: string;
  readonly brokers: readonly { readonly nodeId: number; readonly rack: string }[];
}

/** Size, correlation id and throttle time come before the count of brokers, four bytes each. */
const COUNT_AT = 12;

/** `undefined` while the answer is not whole, or when it is none of Kafka. */
function readAnswer(bytes: Buffer): KafkaAnswer | undefined {
  if (bytes.length < 4 || bytes.length < 4 + bytes.readInt32BE(0)) return undefined;
  let at = COUNT_AT;
  const int32 = (): number => bytes.readInt32BE((at += 4) - 4);
  const text = (): string => {
    // A text that there is none of has length -1.
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
    // It ends before what it says it holds.
    if (errorCode(error).startsWith('ERR_')) return undefined;
    throw error;
  }
}

/** Asks the broker on the loopback port. Returns `undefined` if there is no complete response in time. */
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

/** How we recognize our own brokers. */
export interface KafkaIdentity {
  /** Of the data directory. */
  readonly clusterId: string;
  readonly nodeId: number;
  /** The id of this process: `broker.rack` of its settings. */
  readonly launchId: string;
}

/**
 * Who answers on the loopback port. It is ours once its controller has let the process in that we launched. A broker of
 * another cluster is a stranger, be it of the same node id.
 */
export async function whoAnswersKafka(port: number, ours: KafkaIdentity): Promise<WhoAnswers> {
  const answer = await askKafka(port);
  // A broker that nobody has let in yet answers with a list that is empty, and may not know its cluster.
  if (answer === undefined || answer.clusterId === '') return 'nobody';
  if (answer.clusterId !== ours.clusterId) return 'stranger';
  const isIn = answer.brokers.some(({ nodeId, rack }) => nodeId === ours.nodeId && rack === ours.launchId);
  // The entry may still be that of the process before ours, or of a copy of our directory.
  return isIn ? 'ours' : 'nobody';
}

/** Whether the node of the cluster serves on the loopback port, whenever it was launched. */
export async function kafkaAnswers(port: number, nodeId: number): Promise<boolean> {
  const answer = await askKafka(port);
  return answer?.brokers.some((broker) => broker.nodeId === nodeId) ?? false;
}
