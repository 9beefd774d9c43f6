import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';

const KEEP_ALIVE_MS = 60_000;

/** Opens connections as kafkajs does, and counts those that the other side or the network ended. */
export class CountedSockets {
  interruptions = 0;

  readonly open: ISocketFactory = ({ host, port, ssl, onConnect }) => {
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const socket: Socket =
      (ssl as unknown) === undefined || (ssl as unknown) === null
        ? connect({ host, port }, onConnect)
        : connectTls({ host, port, ...servername, ...ssl }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const count = () => {
      this.interruptions++;
    };
    socket.once('error', count);
    // Listen before Node ends its own side, because after that the connection looks as if we had ended it.
    socket.prependOnceListener('end', () => {
      if (!socket.writableEnded) count();
    });
    // kafkajs calls it on closed sockets as well, where Node adds a listener for each call that waits to be connected.
    socket.once('close', () => {
      socket.unref = () => socket;
    });
    return socket;
  };
}
