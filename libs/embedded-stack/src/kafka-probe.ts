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

/**
 * Whether a broker answers on the loopback port and counts itself as serving: a broker that is still starting, or that
 * its controller has not let in yet, answers with an empty list of brokers or not at all.
 */
export function kafkaAnswers(port: number): Promise<boolean> {
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
      // Size, correlation id and throttle time come before the count of brokers, four bytes each.
      if (answer.length >= 16) settle(answer.readInt32BE(12) > 0);
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
