import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { SMTPServer } from 'smtp-server';
import { makeCertificates } from '../../../../test/support/certificates.js';
import { createMailTransport, type MailTimes } from './mail-transport.js';
import type { StaffMail } from './staff-mail.js';

const MAIL: StaffMail = {
  from: { name: 'Gapless', address: 'alerts@gapless.example' },
  to: ['mara@example.com'],
  subject: 'A chat waits',
  text: 'A chat waits.',
  html: '<p>A chat waits.</p>',
  messageId: '<1@gapless.example>',
  priority: 'normal',
  headers: {},
};

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A transport to a new mail server, which this machine reaches under the name of the host. */
async function transportTo(host: string, auth: string, offersTls: boolean, takesMs = 0, times?: MailTimes) {
  const passwords: string[] = [];
  let mails = 0;
  const smtp = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    ...(offersTls ? makeCertificates().selfSigned : { disabledCommands: ['STARTTLS'] }),
    onAuth(given, _session, callback) {
      passwords.push(given.password ?? '');
      callback(null, { user: given.username });
    },
    onData(stream, _session, callback) {
      stream.resume();
      stream.on('end', () => {
        mails++;
        setTimeout(callback, takesMs);
      });
    },
  });
  // A client that breaks the connection off is no failure of the server.
  smtp.on('error', () => undefined);
  smtp.listen(0, '0.0.0.0');
  await once(smtp.server, 'listening');
  const url = `smtp://${auth}${host}:${(smtp.server.address() as AddressInfo).port}`;
  const transport = createMailTransport(url, times);
  closing.push(
    () =>
      new Promise((resolve) => {
        smtp.close(resolve);
      }),
    () => transport.close(),
  );
  return { url, send: () => transport.send(MAIL), passwords, mails: () => mails };
}

// Linux takes 0.0.0.0 for this machine, and it is no address of the loopback.
const ELSEWHERE = '0.0.0.0';

describe('a mail server at smtp:// that does not offer STARTTLS', () => {
  it('gets no password', async () => {
    const { send, passwords, mails } = await transportTo(ELSEWHERE, 'mara:secret@', false);
    await expect(send()).rejects.toThrow(
      'The mail server takes no STARTTLS, so the password was not sent. Use smtps://.',
    );
    expect([passwords, mails()]).toEqual([[], 0]);
  });

  it('gets mails without a password', async () => {
    const { send, passwords, mails } = await transportTo(ELSEWHERE, '', false);
    await send();
    expect([passwords, mails()]).toEqual([[], 1]);
  });

  it.each(['127.0.0.1', 'localhost'])('gets the password on this machine: %s', async (host) => {
    const { send, passwords, mails } = await transportTo(host, 'mara:secret@', false);
    await send();
    expect([passwords, mails()]).toEqual([['secret'], 1]);
  });
});

it('a mail server with a certificate that is not valid gets no password, and the error says why', async () => {
  const { send, passwords } = await transportTo(ELSEWHERE, 'mara:secret@', true);
  await expect(send()).rejects.toThrow(/certificate/);
  expect(passwords).toEqual([]);
});

it('a mail server may take longer to accept a mail than to greet', async () => {
  const times = { connectMs: 10_000, silentMs: 60_000, mailMs: 60_000 };
  const { send, mails } = await transportTo('127.0.0.1', '', false, 10_500, times);
  await send();
  expect(mails()).toBe(1);
});

it('a mail that a server answers without end fails, and the next one gets another connection', async () => {
  const { url, mails } = await transportTo('127.0.0.1', '', false);
  let connections = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (++connections > 1) {
      const behind = connect(Number(new URL(url).port), '127.0.0.1');
      behind.on('error', () => undefined);
      socket.pipe(behind).pipe(socket);
      return;
    }
    socket.resume().write('220 ready\r\n');
    const dripping = setInterval(() => socket.write('250-wait\r\n'), 100);
    socket.on('close', () => {
      clearInterval(dripping);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const times = { connectMs: 30_000, silentMs: 30_000, mailMs: 10_000 };
  const transport = createMailTransport(`smtp://127.0.0.1:${port}`, times);
  closing.push(
    async () => {
      server.close();
      await once(server, 'close');
    },
    () => transport.close(),
  );
  await expect(transport.send(MAIL)).rejects.toThrow('The mail server did not take the mail within 10 s.');
  expect([connections, mails()]).toEqual([1, 0]);
  await transport.send(MAIL);
  expect([connections, mails()]).toEqual([2, 1]);
});
