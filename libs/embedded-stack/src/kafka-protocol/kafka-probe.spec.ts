import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../../../../test/support/free-port.js';
import { whoAnswersKafka } from './kafka-probe.js';

const ours = { clusterId: 'Gours', nodeId: 1, launchId: 'launch-2' };

let door: Server | undefined;

afterEach(() => {
  door?.close();
});

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeInt16BE(value.length);
  return Buffer.concat([length, Buffer.from(value)]);
}

/** A Metadata answer, version 5. */
function answer(clusterId: string, brokers: readonly { readonly nodeId: number; readonly rack: string }[]): Buffer {
  const listed = brokers.map(({ nodeId, rack }) =>
    Buffer.concat([int32(nodeId), text('127.0.0.1'), int32(9092), text(rack)]),
  );
  const body = [int32(1), int32(0), int32(brokers.length), ...listed, text(clusterId), int32(1), int32(0)];
  const bytes = Buffer.concat(body);
  return Buffer.concat([int32(bytes.length), bytes]);
}

/** Listens, and answers every request with these bytes, in two pieces. @returns the port */
async function somebodyWhoAnswers(bytes: Buffer): Promise<number> {
  door = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(bytes.subarray(0, 7));
      setImmediate(() => socket.end(bytes.subarray(7)));
    });
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  return (door.address() as AddressInfo).port;
}

describe('who answers on the port of a broker that was launched', () => {
  it.each([
    ['ours', 'the broker itself', answer('Gours', [{ nodeId: 1, rack: 'launch-2' }])],
    [
      'ours',
      'the broker itself, among others',
      answer(
        'Gours',
        [2, 1].map((nodeId) => ({ nodeId, rack: 'launch-2' })),
      ),
    ],
    [
      'stranger',
      'a broker of another cluster with the same node id',
      answer('Gother', [{ nodeId: 1, rack: 'launch-2' }]),
    ],
    ['nobody', 'one that is not let in yet', answer('Gours', [])],
    [
      'nobody',
      'one that the process before it is still listed for',
      answer('Gours', [{ nodeId: 1, rack: 'launch-1' }]),
    ],
    ['nobody', 'one that speaks another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['nobody', 'one whose answer makes no sense', Buffer.concat([int32(8), Buffer.alloc(8, 0xff)])],
  ] as const)('is %s: %s', async (who, _, bytes) => {
    expect(await whoAnswersKafka(await somebodyWhoAnswers(bytes), ours)).toBe(who);
  });

  it('is nobody when nobody listens', async () => {
    expect(await whoAnswersKafka(await freePort(), ours)).toBe('nobody');
  });
});
