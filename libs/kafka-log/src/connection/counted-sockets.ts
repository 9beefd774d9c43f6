import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';

const KEEP_ALIVE_MS = 60_000;

/** Opens connections as kafkajs does, and counts those that broke: that ended though nobody here ended them. */
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
    // Before Node ends its own side, which is how a connection that we ended looks.
    socket.prependOnceListener('end', () => {
      if (!socket.writableEnded) count();
    });
    return socket;
  };
}
