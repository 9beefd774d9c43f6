import { connect } from 'node:net';

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

/** Size, correlation id and throttle time come before the count of brokers, four bytes each. */
const COUNT_AT = 12;

/** The node ids of the brokers that a Metadata answer lists; `undefined` while the answer is not whole. */
function brokersIn(answer: Buffer): readonly number[] | undefined {
  if (answer.length < 4 || answer.length < 4 + answer.readInt32BE(0)) return undefined;
  const nodeIds: number[] = [];
  let at = COUNT_AT + 4;
  for (let left = answer.readInt32BE(COUNT_AT); left > 0; left--) {
    nodeIds.push(answer.readInt32BE(at));
    const hostAt = at + 4;
    const rackAt = hostAt + 2 + answer.readInt16BE(hostAt) + 4;
    // A rack that there is none of has length -1.
    at = rackAt + 2 + Math.max(0, answer.readInt16BE(rackAt));
  }
  return nodeIds;
}

/**
 * Whether a broker answers on the loopback port and counts itself as serving: one that is still starting, or that the
 * controller has not let in yet, answers with a list of brokers that it is not on, or not at all.
 */
export function kafkaAnswers(port: number, nodeId: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: PROBE_TIMEOUT_MS });
    let answer = Buffer.alloc(0);
    const settle = (ready: boolean): void => {
      socket.destroy();
      resolve(ready);
    };
    socket.once('connect', () => socket.write(metadataRequest()));
    socket.on('data', (chunk) => {
      answer = Buffer.concat([answer, chunk]);
      const brokers = brokersIn(answer);
      if (brokers !== undefined) settle(brokers.includes(nodeId));
    });
    socket.once('timeout', () => {
      settle(false);
    });
    socket.once('error', () => {
      settle(false);
    });
    socket.once('close', () => {
      settle(false);
    });
  });
}
