import { describe, expect, it } from '@jest/globals';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BoundedHandshake, MAX_HANDSHAKE_BYTES, MAX_RECORD_BYTES } from './bounded-handshake.js';

/** The connection below TLS, and the bytes that the receiver sends to it. */
function bounded() {
  const socket = new PassThrough() as unknown as Socket;
  const handshake = new BoundedHandshake(socket);
  let code: unknown;
  handshake.on('error', (error: NodeJS.ErrnoException) => (code = error.code));
  handshake.resume();
  return { handshake, receive: (bytes: number) => socket.emit('data', Buffer.alloc(bytes)), code: () => code, socket };
}

describe('the bytes of a TLS connection', () => {
  it('are bounded until the handshake is done', async () => {
    const { handshake, receive, code, socket } = bounded();
    receive(MAX_HANDSHAKE_BYTES);
    expect(handshake.destroyed).toBe(false);
    receive(1);
    await nextTurn();
    expect([socket.destroyed, code()]).toEqual([true, 'ERR_HANDSHAKE_TOO_LONG']);
  });

  it('are bounded for each request, and an idle connection gets no more', async () => {
    const { handshake, receive, code, socket } = bounded();
    receive(MAX_HANDSHAKE_BYTES);
    for (let request = 0; request < 3; request++) {
      handshake.expectAnswer();
      receive(MAX_RECORD_BYTES);
    }
    expect(handshake.destroyed).toBe(false);
    receive(1);
    await nextTurn();
    expect([socket.destroyed, code()]).toEqual([true, 'ERR_TLS_RECORDS_TOO_LONG']);
  });
});
