import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { alertIdOf, foldConversation, raiseAlert, type OrgId } from '#libs/domain';
import type { AlertMail, AlertMails, MailOutcome, MailRoom } from '#libs/postgres';
import { createLogger, HealthBoard } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { handedOff, HANDED_OFF_AT_MS } from '../../../../test/support/conversations.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { MailRounds, MAILS_PART } from './mail-rounds.js';
import { CONNECTIONS } from './mail-transport.js';
import type { StaffMail } from './staff-mail.js';

const RAISED_AT_MS = HANDED_OFF_AT_MS + 60_000;
/** A recipient whose mails the server does not take at once. */
const STUCK = 'stuck@example.com';

function aMail(nth: number, { orgId = anOrgId(), ...changes }: Partial<AlertMail> = {}): AlertMail {
  const { waiting } = foldConversation(undefined, handedOff({ seq: nth, orgId }), null);
  const alert = raiseAlert(waiting!, 1, { atMs: RAISED_AT_MS, queueDepth: 1, notifiesStaff: true });
  const alertId = alertIdOf(alert.eventId);
  return { ...alert, alertId, earlierAlertId: null, emails: ['mara@example.com'], attempt: 1, ...changes };
}

/** Rounds over so many due mails, so long after they were raised. */
function theRounds(due: number, afterMs = 0, limits = { perHour: 0, domains: [] as readonly string[] }) {
  const mails = Array.from({ length: due }, (_, nth) => aMail(nth + 1));
  const outcomes: MailOutcome[] = [];
  const ending = new AbortController();
  const sending = { now: 0, most: 0, sent: 0, refusal: null as string | null, to: [] as (readonly string[])[] };
  const postgres = { settles: 0, refusesSettling: () => false, isAway: false };
  let takeStuck: () => void = () => undefined;
  const stuck = new Promise<void>((resolve) => (takeStuck = resolve));
  const time = { nowMs: RAISED_AT_MS + afterMs };
  const logged: unknown[] = [];
  const logger = createLogger('silent', 'test');
  logger.warn = (line: unknown, event?: string) => logged.push([event, line]);
  const health = new HealthBoard();
  const metrics = new Metrics();
  const rounds = new MailRounds({
    mails: {
      take(_now: number, _until: number, { limit, sending: of, perOrg }: MailRoom) {
        if (postgres.isAway) return Promise.reject(new Error('Postgres is away'));
        const taken: AlertMail[] = [];
        const held = (orgId: OrgId) => [...of, ...taken.map((mail) => mail.orgId)].filter((one) => one === orgId);
        for (const mail of [...mails]) {
          if (taken.length === limit || held(mail.orgId).length >= perOrg) continue;
          taken.push(...mails.splice(mails.indexOf(mail), 1));
        }
        return Promise.resolve(taken);
      },
      settle(_mail: AlertMail, outcome: MailOutcome) {
        postgres.settles++;
        if (postgres.refusesSettling()) return Promise.reject(new Error('Postgres is away'));
        return Promise.resolve(outcomes.push(outcome));
      },
    } as unknown as AlertMails,
    transport: {
      async send(mail: StaffMail) {
        if (mail.to.includes(STUCK)) await stuck;
        if (sending.refusal !== null) throw new Error(sending.refusal);
        sending.most = Math.max(sending.most, ++sending.now);
        await new Promise((resolve) => setImmediate(resolve));
        sending.now--;
        sending.sent++;
        sending.to.push(mail.to);
      },
      close: () => Promise.resolve(),
    },
    context: { from: 'alerts@gapless.example', publicUrl: null },
    limits,
    clock: { now: () => time.nowMs },
    logger,
    metrics,
    health,
  });
  return { rounds, outcomes, ending, sending, takeStuck, health, metrics, mails, time, logged, postgres };
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a round of mails', () => {
  it('takes no mail that would wait for a connection while it is held', async () => {
    const { rounds, ending, sending } = theRounds(3 * CONNECTIONS);
    expect(await rounds.round(ending.signal)).toBe(3 * CONNECTIONS);
    expect(sending).toMatchObject({ now: 0, most: CONNECTIONS, sent: 3 * CONNECTIONS });
  });

  it('goes on with mails of others, also with those due later, while the server keeps two of one organization', async () => {
    const { rounds, ending, sending, takeStuck, mails } = theRounds(0);
    const [slow, other] = [anOrgId(), anOrgId()];
    mails.push(...oneTo(3).map((nth) => ({ ...aMail(nth, { orgId: slow }), emails: [STUCK] })));
    mails.push(...oneTo(5).map((nth) => aMail(nth, { orgId: other })));
    const round = rounds.round(ending.signal);
    await eventually(() => {
      expect(sending.sent).toBe(5);
    });
    mails.push(aMail(6, { orgId: other }));
    await eventually(() => {
      expect(sending.sent).toBe(6);
    });
    expect(mails).toHaveLength(1);
    takeStuck();
    expect(await round).toBe(9);
    expect(sending.most).toBe(2);
  });

  it('keeps a connection for others while the server keeps the mails of two organizations', async () => {
    const { rounds, ending, sending, takeStuck, mails } = theRounds(0);
    for (const orgId of [anOrgId(), anOrgId()]) {
      mails.push(...oneTo(3).map((nth) => aMail(nth, { orgId, emails: [STUCK] })));
    }
    const round = rounds.round(ending.signal);
    mails.push(aMail(7));
    await eventually(() => {
      expect(sending.sent).toBe(1);
    });
    takeStuck();
    expect(await round).toBe(7);
  });

  it('ends with the mails under way when the process ends', async () => {
    const { rounds, ending, sending } = theRounds(100);
    const round = rounds.round(ending.signal);
    ending.abort();
    expect(await round).toBe(CONNECTIONS);
    expect(sending.sent).toBe(CONNECTIONS);
  });

  it('saves the outcome of a mail again until Postgres has it, and sends no mail twice', async () => {
    const { rounds, outcomes, ending, sending, postgres } = theRounds(2);
    postgres.refusesSettling = () => postgres.settles <= 3;
    expect(await rounds.round(ending.signal)).toBe(2);
    expect(sending.sent).toBe(2);
    expect(outcomes).toEqual([{ kind: 'sent' }, { kind: 'sent' }]);
    expect(postgres.settles).toBe(5);
  });

  it.each(['is no longer reserved', 'was sent by a process that ends'])(
    'tries to save the outcome of a mail no longer once it %s',
    async (why) => {
      const { rounds, ending, time, postgres } = theRounds(1);
      postgres.refusesSettling = () => {
        if (why === 'is no longer reserved') time.nowMs += 100_000;
        else if (postgres.settles === 2) ending.abort();
        return true;
      };
      await expect(rounds.round(ending.signal)).rejects.toThrow('Postgres is away');
      expect(postgres.settles).toBe(2);
    },
  );

  it('leaves mails under way when it fails, and says when they have ended', async () => {
    const { rounds, outcomes, ending, takeStuck, mails, postgres } = theRounds(0);
    mails.push(aMail(1, { emails: [STUCK] }));
    const round = rounds.round(ending.signal);
    await eventually(() => {
      expect(mails).toHaveLength(0);
    });
    postgres.isAway = true;
    await expect(round).rejects.toThrow('Postgres is away');
    let isIdle = false;
    const idle = rounds.idle().then(() => (isIdle = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isIdle).toBe(false);
    takeStuck();
    await idle;
    expect(outcomes).toEqual([{ kind: 'sent' }]);
  });

  it('shows in the health of the process whether the last mail was sent, without the answer of the server', async () => {
    const { rounds, ending, sending, health, mails } = theRounds(0);
    const shown = async () => {
      await rounds.round(ending.signal);
      return [health.isReady, health.parts()[MAILS_PART]];
    };
    expect(await shown()).toEqual([true, { status: 'ready' }]);
    mails.push(aMail(1));
    sending.refusal = '550 mara@example.com is unknown';
    const degraded = { status: 'degraded', reason: 'the last one was not sent: see alert.not_mailed in the log' };
    expect(await shown()).toEqual([true, degraded]);
    // There are no mails to try.
    expect(await shown()).toEqual([true, degraded]);
    mails.push(aMail(2));
    sending.refusal = null;
    expect(await shown()).toEqual([true, { status: 'ready' }]);
  });

  it('gives up a mail that waited for hours, as one from a backup has', async () => {
    const { rounds, outcomes, ending, sending, metrics, mails } = theRounds(1, 3 * 3_600_000);
    mails.push({ ...aMail(2), attempt: 2 });
    await rounds.round(ending.signal);
    expect(sending.sent).toBe(0);
    const givenUp = { kind: 'failed', error: expect.any(String), retryAtMs: undefined };
    expect(outcomes).toEqual([givenUp, givenUp]);
    const { text } = await metrics.scrape();
    expect(text).toContain('gapless_alert_mails_total{outcome="untried"} 1');
    expect(text).toContain('gapless_alert_mails_total{outcome="exhausted"} 1');
  });

  it('sends so many for an organization in an hour, and fails its others with one line in the log', async () => {
    const { rounds, outcomes, ending, sending, health, metrics, mails, time, logged } = theRounds(0, 0, {
      perHour: 2,
      domains: [],
    });
    jest.spyOn(performance, 'now').mockImplementation(() => time.nowMs);
    const orgId = anOrgId();
    const raisedAtMs = RAISED_AT_MS + 3_600_000;
    const round = async (count: number, changes: Partial<AlertMail>) => {
      const before = sending.sent;
      for (let nth = 1; nth <= count; nth++) mails.push(aMail(nth, { raisedAtMs, ...changes }));
      await rounds.round(ending.signal);
      return sending.sent - before;
    };
    expect(await round(5, { orgId })).toBe(2);
    const limited = { kind: 'failed', error: 'the organization has had its mails of this hour', retryAtMs: undefined };
    expect(outcomes.filter(({ kind }) => kind === 'failed')).toEqual([limited, limited, limited]);
    expect(logged).toEqual([['alert.mails_limited', { org_id: orgId, mails_per_hour: 2 }]]);
    expect(health.parts()[MAILS_PART]).toEqual({ status: 'ready' });
    expect((await metrics.scrape()).text).toContain('gapless_alert_mails_total{outcome="limited"} 3');
    // Those of others, and a retry.
    expect(await round(2, { orgId: anOrgId() })).toBe(2);
    expect(await round(1, { orgId, attempt: 2 })).toBe(1);
    time.nowMs += 3_599_999;
    expect(await round(1, { orgId })).toBe(0);
    time.nowMs += 1;
    expect(await round(3, { orgId })).toBe(2);
    expect(logged).toHaveLength(2);
  });

  it('goes to the addresses of allowed domains alone', async () => {
    const { rounds, outcomes, ending, sending, mails } = theRounds(0, 0, { perHour: 0, domains: ['example.com'] });
    mails.push(aMail(1, { emails: ['a@stranger.example', 'mara@example.com'] }));
    mails.push(aMail(2, { emails: ['a@stranger.example'] }));
    await rounds.round(ending.signal);
    expect(sending.to).toEqual([['mara@example.com']]);
    expect(outcomes).toEqual([{ kind: 'unwanted' }, { kind: 'sent' }]);
  });
});
