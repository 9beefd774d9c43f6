import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { SMTPServer } from 'smtp-server';
import { alertIdOf, foldConversation, raiseAlert } from '#libs/domain';
import type { AlertMail, AlertMails, MailOutcome } from '#libs/postgres';
import { createLogger, HealthBoard, type Config } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { handedOff, HANDED_OFF_AT_MS } from '../../../../test/support/conversations.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { SendMails } from './send-mails.js';

it('a process that ends while Postgres is away waits for the mails under way', async () => {
  let accept: () => void = () => undefined;
  const accepted = new Promise<void>((resolve) => (accept = resolve));
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, callback) {
      stream.resume();
      stream.on('end', () => {
        void accepted.then(() => {
          callback();
        });
      });
    },
  });
  smtp.on('error', () => undefined);
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const { waiting } = foldConversation(undefined, handedOff({ seq: 1 }), null);
  const alert = raiseAlert(waiting!, 1, { atMs: HANDED_OFF_AT_MS, queueDepth: 1, notifiesStaff: true });
  const mail: AlertMail = {
    ...alert,
    alertId: alertIdOf(alert.eventId),
    earlierAlertId: null,
    emails: ['mara@example.com'],
    attempt: 1,
  };
  const outcomes: MailOutcome[] = [];
  let takes = 0;
  const mails = {
    take: () => (takes++ === 0 ? Promise.resolve([mail]) : Promise.reject(new Error('Postgres is away'))),
    settle: (_mail: AlertMail, outcome: MailOutcome) => Promise.resolve(outcomes.push(outcome)),
  } as unknown as AlertMails;
  const config = {
    smtpUrl: `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`,
    publicUrl: null,
    alertMailsPerHour: 0,
    alertMailDomains: [] as readonly string[],
  } as Config;
  const clock = { now: () => HANDED_OFF_AT_MS };
  const sending = new SendMails(mails, config, clock, createLogger('silent', 'test'), new Metrics(), new HealthBoard());
  sending.onApplicationBootstrap();
  await eventually(() => {
    // The round with the mail has failed.
    expect(takes).toBeGreaterThan(2);
  });
  const ended = sending.beforeApplicationShutdown();
  await new Promise((resolve) => setImmediate(resolve));
  accept();
  await ended;
  expect(outcomes).toEqual([{ kind: 'sent' }]);
  await new Promise<void>((resolve) => {
    smtp.close(resolve);
  });
});
