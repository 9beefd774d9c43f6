import type { StaffMail } from './staff-mail.js';

/** A mail server that does not go on within this time is as good as away; the mail is tried again. */
const TIMEOUT_MS = 10_000;
const CONNECTIONS = 4;

/** Where mails are sent from, and how. */
export interface MailTransport {
  /** Resolves once the server has taken the mail for at least one of its recipients. */
  send(mail: StaffMail): Promise<void>;
  close(): Promise<void>;
}

/**
 * The address that mails come from: the `from` parameter of the url, its user where that is an address, or `gapless` at
 * the server's own name.
 */
export function senderOf(smtpUrl: string): string {
  const { searchParams, username, hostname } = new URL(smtpUrl);
  const user = decodeURIComponent(username);
  return searchParams.get('from') ?? (user.includes('@') ? user : `gapless@${hostname}`);
}

/** Speaks SMTP to the server of the url: `smtps://` from the start in TLS, `smtp://` with STARTTLS where it is offered. */
export function createMailTransport(smtpUrl: string): MailTransport {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl);
  // Where no mails are sent, it need not be held in memory.
  const opening = import('nodemailer').then(({ createTransport }) =>
    createTransport({
      pool: true,
      host: hostname.replace(/^\[|\]$/g, ''),
      ...(port === '' ? {} : { port: Number(port) }),
      secure: protocol === 'smtps:',
      ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
      maxConnections: CONNECTIONS,
      // Whether a mail is sent again is decided in one place, by what its alert says.
      maxRequeues: 0,
      idleTimeout: 5_000,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      // A mail is made of what visitors write: nothing in it is fetched.
      disableFileAccess: true,
      disableUrlAccess: true,
    }),
  );
  return {
    async send(mail) {
      const transport = await opening;
      await transport.sendMail({ ...mail, to: [...mail.to] });
    },
    async close() {
      (await opening).close();
    },
  };
}
