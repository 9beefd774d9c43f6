import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** A mail as a server took it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** By their lower-case names; folded lines are one. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parts of the body by their content type, decoded. */
  readonly parts: Readonly<Record<string, string>>;
}

/** A mail server on loopback. */
export interface MailServer {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** Refuses mails for as long as it is set. */
  refusal: string | null;
  close(): Promise<void>;
}

function headersOf(head: string): Readonly<Record<string, string>> {
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

function decoded(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding !== 'quoted-printable') return body;
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

function split(message: string): readonly [headers: Readonly<Record<string, string>>, body: string] {
  const end = message.indexOf('\r\n\r\n');
  return [headersOf(message.slice(0, end)), message.slice(end + 4)];
}

/** Reads a multipart message, whose parts are not multipart themselves. */
function read(message: string): Pick<ReceivedMail, 'headers' | 'parts'> {
  const [headers, body] = split(message);
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1] ?? '';
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => split(part.replace(/^\r\n/, '')))
    .map(([head, text]) => [
      head['content-type']?.split(';')[0] ?? '',
      decoded(text, head['content-transfer-encoding']).trim(),
    ]);
  return { headers, parts: Object.fromEntries(parts) as Record<string, string> };
}

export async function aMailServer(port = 0): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (server.refusal !== null) {
          callback(new Error(server.refusal));
          return;
        }
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          ...read(Buffer.concat(chunks).toString()),
        });
        callback();
      });
    },
  });
  smtp.listen(port, '127.0.0.1');
  await once(smtp.server, 'listening');
  const server: MailServer = {
    url: `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}/?from=alerts@gapless.example`,
    mails,
    refusal: null,
    close: () =>
      new Promise((resolve) => {
        smtp.close(() => {
          resolve();
        });
      }),
  };
  return server;
}
