import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Client } from 'pg';

/** A pooler that gives each statement of its clients the same connection, as PgBouncer does by `pool_mode = transaction`. */
export interface SharingPooler {
  readonly url: string;
  close(): Promise<void>;
}

/** `AuthenticationOk`, and `ReadyForQuery` outside of a transaction. */
const WELCOME = Buffer.from('520000000800000000' + '5a0000000549', 'hex');
const READY_FOR_QUERY = 'Z'.charCodeAt(0);

export async function aSharingPooler(databaseUrl: string): Promise<SharingPooler> {
  const client = new Client({ connectionString: databaseUrl });
  // Its connection ends without a word.
  client.on('error', () => undefined);
  await client.connect();
  const { stream: server } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;
  server.removeAllListeners('data');
  const sockets = new Set<Socket>();
  let turn: Promise<unknown> = Promise.resolve();
  const pooler = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.once('data', () => {
      socket.write(WELCOME);
      socket.on('data', (statement: Buffer) => {
        if (statement[0] === 'X'.charCodeAt(0)) return;
        turn = turn.then(async () => socket.write(await answerTo(server, statement)));
      });
    });
  }).listen(0, '127.0.0.1');
  await once(pooler, 'listening');
  const url = new URL(databaseUrl);
  url.port = String((pooler.address() as AddressInfo).port);
  return {
    url: url.href,
    async close() {
      pooler.close();
      for (const socket of sockets) socket.destroy();
      await turn;
      server.destroy();
    },
  };
}

async function answerTo(server: Socket, statement: Buffer): Promise<Buffer> {
  server.write(statement);
  for (let answer = Buffer.alloc(0); ;) {
    const [bytes] = (await once(server, 'data')) as [Buffer];
    answer = Buffer.concat([answer, bytes]);
    if (isComplete(answer)) return answer;
  }
}

function isComplete(answer: Buffer): boolean {
  for (let at = 0; at + 5 <= answer.length; at += 1 + answer.readInt32BE(at + 1)) {
    if (answer[at] === READY_FOR_QUERY) return true;
  }
  return false;
}
