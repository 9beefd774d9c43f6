import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { decode, encode } from 'dns-packet';

/** The records of a name for the n-th query (from 0) of one of its two record types, `A` and `AAAA`. */
export type Answers = (asked: number, type: string) => readonly string[] | 'silence';

export interface TestDnsServer {
  /** For `createResolver({dnsServers: [address]})`. */
  readonly address: string;
  /** The questions in the order received, such as `A hooks.example.com`. */
  readonly questions: readonly string[];
  /** Sets the addresses of a name, IPv4 and IPv6 in one list. Names without addresses do not exist. */
  set(name: string, answers: readonly string[] | Answers): void;
  close(): Promise<void>;
}

const NXDOMAIN = 3;
const AUTHORITATIVE = 0x0400;
/** Long, so that a client that caches answers would miss a change. */
const TTL_SECONDS = 3600;

/** Starts a name server on a free loopback port (UDP) that gives the test's answers. */
export async function startDnsServer(): Promise<TestDnsServer> {
  const socket = createSocket('udp4');
  const zone = new Map<string, Answers>();
  const questions: string[] = [];

  socket.on('message', (message, client) => {
    const query = decode(message);
    const question = query.questions?.[0];
    if (question === undefined) return;
    const name = question.name.toLowerCase();
    const asked = questions.filter((earlier) => earlier === `${question.type} ${name}`).length;
    questions.push(`${question.type} ${name}`);
    const addresses = zone.get(name)?.(asked, question.type);
    if (addresses === 'silence') return;
    const answers = (addresses ?? []).flatMap((data) => {
      const type = data.includes(':') ? ('AAAA' as const) : ('A' as const);
      return type === question.type ? [{ type, name: question.name, ttl: TTL_SECONDS, data }] : [];
    });
    const flags = AUTHORITATIVE | (addresses === undefined ? NXDOMAIN : 0);
    socket.send(
      encode({
        type: 'response',
        ...(query.id === undefined ? {} : { id: query.id }),
        flags,
        questions: [question],
        answers,
      }),
      client.port,
      client.address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');

  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    set: (name, answers) => {
      zone.set(name, typeof answers === 'function' ? answers : () => answers);
    },
    close: () =>
      new Promise((resolve) => {
        socket.close(resolve);
      }),
  };
}
