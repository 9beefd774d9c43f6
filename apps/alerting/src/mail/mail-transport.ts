import type { StaffMail } from './staff-mail.js';

/** How long a mail server may take, milliseconds. */
export interface MailTimes {
  /** Until it greets. A server that takes longer counts as unreachable. */
  readonly connectMs: number;
  /** Without a sign of life. Some check a mail for a minute before they take it, and a second try would be a second mail. */
  readonly silentMs: number;
  /** In all. A server that answers a byte at a time would keep a connection for good. */
  readonly mailMs: number;
}

export const MAIL_TIMES: MailTimes = { connectMs: 10_000, silentMs: 120_000, mailMs: 150_000 };
/** The mails that are sent at a time. */
export const CONNECTIONS = 4;

/** Sends mails through the mail server. */
export interface MailTransport {
  /** Resolves once the server has taken the mail for at least one of its recipients. */
  send(mail: StaffMail): Promise<void>;
  /** Closes all connections. Mails under way fail. */
  close(): Promise<void>;
}

/**
 * Returns the sender's address: the `from` parameter of the url, or its user if that is an address. Otherwise it is
 * `gapless` at the server's host name.
 */
export function senderOf(smtpUrl: string): string {
  const { searchParams, username, hostname } = new URL(smtpUrl);
  const user = decodeURIComponent(username);
  return searchParams.get('from') ?? (user.includes('@') ? user : `gapless@${hostname}`);
}

/** Whether what is sent to the host stays on this machine. */
function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/i.test(hostname);
}

/** Whether the server refused STARTTLS. A certificate that is not valid has no response. */
function isWithoutStartTls(error: unknown): boolean {
  const { command, response } = error as { readonly command?: string; readonly response?: string };
  return command === 'STARTTLS' && response !== undefined;
}

/**
 * Connects to the SMTP server of the url: `smtps://` uses TLS from the start, `smtp://` uses STARTTLS if it is offered.
 * With a password, the server must offer it: otherwise anyone on the way could remove the offer, and read the password.
 */
export function createMailTransport(smtpUrl: string, times = MAIL_TIMES): MailTransport {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl);
  const requiresTls = protocol === 'smtp:' && password !== '' && !isLoopback(hostname);
  // Imported here, so that a process that sends no mails does not load it.
  const opening = import('nodemailer').then(({ createTransport }) =>
    createTransport({
      pool: true,
      host: hostname.replace(/^\[|\]$/g, ''),
      ...(port === '' ? {} : { port: Number(port) }),
      secure: protocol === 'smtps:',
      requireTLS: requiresTls,
      ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
      maxConnections: CONNECTIONS,
      // `MailRounds` alone decides whether a mail is sent again.
      maxRequeues: 0,
      idleTimeout: 5_000,
      connectionTimeout: times.connectMs,
      greetingTimeout: times.connectMs,
      socketTimeout: times.silentMs,
      // Mails contain text from visitors, so no file or url in them is fetched.
      disableFileAccess: true,
      disableUrlAccess: true,
    }),
  );
  return {
    async send(mail) {
      const transport = await opening;
      const deadline = AbortSignal.timeout(times.mailMs);
      try {
        // At the deadline, nodemailer closes the connection of the mail.
        await transport.sendMail({ ...mail, to: [...mail.to], signal: deadline });
      } catch (error) {
        if (deadline.aborted) {
          const reason = `The mail server did not take the mail within ${times.mailMs / 1_000} s.`;
          throw new Error(reason, { cause: error });
        }
        if (!requiresTls || !isWithoutStartTls(error)) throw error;
        throw new Error('The mail server takes no STARTTLS, so the password was not sent. Use smtps://.', {
          cause: error,
        });
      }
    },
    async close() {
      (await opening).close({ force: true });
    },
  };
}
