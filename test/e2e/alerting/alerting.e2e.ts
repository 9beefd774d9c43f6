import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AlertMails } from '#libs/postgres';
import { createLogger, HealthBoard } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { AlertingModule } from '../../../apps/alerting/src/alerting.module.js';
import { MailRounds } from '../../../apps/alerting/src/mail/mail-rounds.js';
import { createMailTransport, senderOf } from '../../../apps/alerting/src/mail/mail-transport.js';
import type { Envelope } from '../../support/api-client.js';
import { conversationData, HANDED_OFF_AT_MS } from '../../support/conversations.js';
import { aWidgetId } from '../../support/ids.js';
import { freePort } from '../../support/free-port.js';
import { scrape, valueOf } from '../../support/scrape.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { PARTITIONS } from '../../support/environment.js';
import { aMailServer } from '../../support/mail-server.js';
import { AlertingSuite, type OrgUnderTest } from './support/alerting-suite.js';

interface AlertJson {
  readonly event_id: string;
  readonly conversation_id: string;
  readonly stage: number;
  readonly cleared_at: string | null;
  readonly cleared_by: string | null;
}

interface QueueJson {
  readonly data: readonly {
    readonly conversation_id: string;
    readonly stage: number;
    readonly waiting_since: string;
  }[];
  readonly waiting: number;
}

type Data = ReturnType<typeof conversationData> & { readonly stage: number };

const TELL_ALL = { enabled: true, emails: [] };

let suite: AlertingSuite;
let org: OrgUnderTest;

beforeAll(async () => {
  suite = await AlertingSuite.start();
});

afterAll(async () => {
  await suite.stop();
});

beforeEach(async () => {
  org = await suite.anOrg();
  // A sweep is about all orgs: what earlier tests have left waiting would be raised as well.
  await suite.store.query('delete from waiting_conversations');
});

async function skippedEvents(): Promise<number> {
  return valueOf(await scrape(suite.app.url), 'gapless_alerting_events_skipped_total') ?? 0;
}

function raisedOf(events: readonly Envelope[]): readonly string[] {
  return events.map(({ event, data }) => `${event} ${(data as Data).conversation.id}`);
}

/** Shows which alerting events the log has, and that the staff was alerted to the same ones, each once. */
async function expectRaised(expected: readonly string[], from = org): Promise<readonly Envelope[]> {
  const events = await eventually(async () => {
    const found = await from.alertEvents();
    expect(raisedOf(found)).toEqual(expected);
    return found;
  });
  const staffAlerts = await from.staffAlerts();
  expect(staffAlerts.map(({ event_id }) => event_id)).toEqual(events.map(({ id }) => id));
  return events;
}

async function clearings(): Promise<readonly (string | null)[]> {
  return (await org.list<{ data: readonly AlertJson[] }>('alerts')).data.map(({ cleared_by }) => cleared_by);
}

describe('a conversation that nobody answers (contract 7.4)', () => {
  it('raises its alert however many others do with the largest subjects', async () => {
    const conversations = Array.from({ length: 40 }, (_, nth) => `cnv_${nth + 10}`);
    for (const conversation of conversations) {
      const data = conversationData(conversation, { subject: 'x'.repeat(250 * 1024) });
      await org.happens({ event: 'handed_off', conversation, data });
    }
    const metrics = new Metrics();
    expect((await suite.sweepAfter(61, { metrics }).round()).raised).toBe(40);
    const { text } = await metrics.scrape();
    expect(text.match(/(?<=^gapless_alerts_raised_total).*$/gm)).toEqual(['{stage="1"} 40', '{stage="2"} 0']);
    await expectRaised(conversations.map((conversation) => `conversation.queued ${conversation}`));
  });

  it('raises at the first threshold and escalates at the second: one event and one staff alert each (contract 3.3)', async () => {
    const widgetId = aWidgetId();
    await org.happens(
      { event: 'handed_off', widgetId },
      { event: 'handed_off', conversation: 'cnv_2', afterSeconds: 50 },
    );
    expect((await suite.sweepAfter(59.9).round()).raised).toBe(0);
    expect(await suite.sweepAfter(62.9).round()).toMatchObject({ raised: 1, published: 1 });
    expect((await suite.sweepAfter(99).round()).raised).toBe(0);
    await org.happens({ event: 'picked_up', conversation: 'cnv_2', afterSeconds: 100 });
    await suite.sweepAfter(300).round();
    await suite.sweepAfter(10_000).round();
    const [queued, escalated] = await expectRaised([
      'conversation.queued cnv_1',
      'conversation.queued.escalated cnv_1',
    ]);
    const data = conversationData('cnv_1', { waited_seconds: 62, queue_depth: 2 });
    expect(queued).toMatchObject({
      occurred_at: new Date(HANDED_OFF_AT_MS + 62_900).toISOString(),
      widget_id: widgetId,
    });
    expect(queued?.data).toEqual({ ...data, stage: 1 });
    expect(escalated?.data).toEqual({
      ...conversationData('cnv_1', { waited_seconds: 300, queue_depth: 1 }),
      stage: 2,
    });
    const [staffAlert] = await org.staffAlerts();
    expect(staffAlert).toEqual({
      alert_id: queued!.id.replace('evt_', 'alr_'),
      org_id: org.orgId,
      conversation_id: 'cnv_1',
      stage: 1,
      event_id: queued!.id,
      raised_at: queued!.occurred_at,
      data: queued!.data,
    });
  });

  it.each(['picked_up', 'abandoned', 'completed'])('is over when it is %s, at each point', async (event) => {
    const leaves = (conversation: string, afterSeconds: number) => ({ event, conversation, afterSeconds });
    const handedOff = (conversation: string) => ({ event: 'handed_off', conversation });
    await org.happens(handedOff('early'), handedOff('raised'), handedOff('escalated'), leaves('early', 10));
    await suite.sweepAfter(60).round();
    await org.happens(leaves('raised', 100), leaves('never', 100));
    await suite.sweepAfter(300).round();
    await org.happens(leaves('escalated', 310));
    await suite.sweepAfter(1_000).round();
    await expectRaised([
      'conversation.queued escalated',
      'conversation.queued raised',
      'conversation.queued.escalated escalated',
    ]);
    expect(await clearings()).toEqual([event, event, event]);
    expect(await org.list<QueueJson>('waiting-conversations')).toEqual({ data: [], waiting: 0 });
  });

  it('gets both alerts, in order, when it is found past both thresholds', async () => {
    await org.happens({ event: 'handed_off' });
    expect((await suite.sweepAfter(500).round()).raised).toBe(2);
    await expectRaised(['conversation.queued cnv_1', 'conversation.queued.escalated cnv_1']);
    expect((await org.staffAlerts()).map(({ stage }) => stage)).toEqual([1, 2]);
  });

  it('starts over when it enters the queue again, under new ids', async () => {
    await org.happens({ event: 'handed_off' });
    await suite.sweepAfter(500).round();
    await org.happens({ event: 'picked_up', afterSeconds: 510 }, { event: 'handed_off', afterSeconds: 600 });
    await suite.sweepAfter(659).round();
    await suite.sweepAfter(660).round();
    const events = await expectRaised([
      'conversation.queued cnv_1',
      'conversation.queued.escalated cnv_1',
      'conversation.queued cnv_1',
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
    expect((events[2]!.data as Data).conversation.waited_seconds).toBe(60);
    expect(await clearings()).toEqual([null, 'picked_up', 'picked_up']);
  });

  it('keeps the time it has waited when it is transferred, and shows what is known then', async () => {
    await org.happens({ event: 'handed_off' });
    await suite.sweepAfter(60).round();
    const department = { id: 'dep_9', name: 'Returns' };
    await org.happens({ event: 'transferred', afterSeconds: 70, data: { ...conversationData('cnv_1'), department } });
    await suite.sweepAfter(300).round();
    const [, escalated] = await expectRaised(['conversation.queued cnv_1', 'conversation.queued.escalated cnv_1']);
    expect(escalated?.data).toMatchObject({ conversation: { waited_seconds: 300 }, department });
    expect(await clearings()).toEqual([null, null]);
  });

  it('raises its alert when transfers make what is known of it larger than an event may be', async () => {
    const large = 'x'.repeat(200 * 1024);
    await org.happens(
      { event: 'handed_off', data: conversationData('cnv_1', { subject: large }) },
      { event: 'transferred', data: { conversation: { id: 'cnv_1', first_message: large } } },
    );
    await suite.sweepAfter(60).round();
    const [queued] = await expectRaised(['conversation.queued cnv_1']);
    const { conversation, visitor } = queued!.data as Data;
    expect(conversation.url).toBe('https://dashboard.example.com/conversations/cnv_1');
    expect([large.startsWith(conversation.subject), large.startsWith(conversation.first_message)]).toEqual([
      true,
      true,
    ]);
    expect(visitor).toEqual(conversationData('cnv_1').visitor);
  });

  it('is not raised again by the sweep when a producer has raised it', async () => {
    await org.happens({ event: 'handed_off' }, { event: 'queued', afterSeconds: 40 });
    await suite.sweepAfter(299).round();
    expect(await org.list<QueueJson>('waiting-conversations')).toMatchObject({ data: [{ stage: 1 }], waiting: 1 });
    await suite.sweepAfter(300).round();
    const events = await eventually(async () => {
      const found = await org.alertEvents();
      expect(found).toHaveLength(2);
      return found;
    });
    expect(raisedOf(events)).toEqual(['conversation.queued cnv_1', 'conversation.queued.escalated cnv_1']);
    expect((await org.staffAlerts()).map(({ event_id }) => event_id)).toEqual([events[1]!.id]);
  });

  it('raises an alert however little its producer has sent, and stops nobody else when it cannot be kept', async () => {
    await org.happens(
      { event: 'handed_off', data: { conversation: { id: 'bare', subject: 'N\u0000L \ud800' } } },
      { event: 'handed_off', data: { conversation: { id: 'x'.repeat(5_000) } } },
      { event: 'handed_off', data: {} },
    );
    await suite.sweepAfter(60).round();
    const [queued] = await expectRaised(['conversation.queued bare']);
    expect(queued?.data).toMatchObject({ conversation: { subject: 'N\u0000L \ud800', queue_depth: 1 } });
  });
});

describe('an event of a chat without the id of its conversation', () => {
  it('is in the feed, changes no queue, and is counted', async () => {
    const before = await skippedEvents();
    await org.happens(
      { event: 'handed_off', data: {} },
      { event: 'handed_off', data: { conversation_id: 'cnv_1' } },
      { event: 'created', data: {} },
      { event: 'handed_off', conversation: 'cnv_2' },
    );
    expect((await suite.sweepAfter(61).round()).raised).toBe(1);
    await expectRaised(['conversation.queued cnv_2']);
    expect((await skippedEvents()) - before).toBe(2);
    expect(await org.api.feed()).toHaveLength(5);
  });
});

describe('live-chat settings (contract 7.4)', () => {
  it('take effect at the next sweep, also for those who wait already, each of whom is alerted once', async () => {
    await org.happens({ event: 'handed_off' }, { event: 'handed_off', conversation: 'cnv_2', afterSeconds: 25 });
    expect((await suite.sweepAfter(50).round()).raised).toBe(0);
    await org.set(40, 1_000, TELL_ALL);
    expect((await suite.sweepAfter(50).round()).raised).toBe(1);
    await org.set(100, 1_000, TELL_ALL);
    expect((await suite.sweepAfter(70).round()).raised).toBe(0);
    await org.set(10, 60, TELL_ALL);
    await suite.sweepAfter(70).round();
    await suite.sweepAfter(80).round();
    await expectRaised([
      'conversation.queued cnv_1',
      'conversation.queued cnv_2',
      'conversation.queued.escalated cnv_1',
    ]);
  });

  it('hold for those who enter the queue later', async () => {
    await org.set(5, 15, TELL_ALL);
    await org.happens({ event: 'handed_off' });
    expect((await suite.sweepAfter(4).round()).raised).toBe(0);
    expect((await suite.sweepAfter(5).round()).raised).toBe(1);
    expect((await suite.sweepAfter(15).round()).raised).toBe(1);
  });

  it('silence the staff alerts, and keep the events', async () => {
    await org.set(60, 300, { enabled: false, emails: ['a@example.com'] });
    await org.happens({ event: 'handed_off' });
    await suite.sweepAfter(60).round();
    await eventually(async () => {
      expect(raisedOf(await org.alertEvents())).toEqual(['conversation.queued cnv_1']);
    });
    expect(await org.staffAlerts()).toEqual([]);
  });

  it('are the defaults until something is set, and keep who is mailed when only the thresholds are', async () => {
    const path = `/internal/orgs/${org.orgId}/live-chat-settings`;
    const settings = async () => (JSON.parse((await org.api.request('GET', path)).text) as { data: unknown }).data;
    expect(await settings()).toEqual({
      first_alert_seconds: 60,
      second_alert_seconds: 300,
      staff_alerts: { enabled: true, emails: [] },
    });
    await org.set(1, 2, { enabled: false, emails: ['a@example.com'] });
    await org.api.request('PUT', path, '{"first_alert_seconds":3,"second_alert_seconds":4}');
    expect(await settings()).toEqual({
      first_alert_seconds: 3,
      second_alert_seconds: 4,
      staff_alerts: { enabled: false, emails: ['a@example.com'] },
    });
  });

  it.each([
    ['{}', '#/first_alert_seconds'],
    ['{"first_alert_seconds":60,"second_alert_seconds":60}', '#/second_alert_seconds'],
    ['{"first_alert_seconds":0,"second_alert_seconds":60}', '#/first_alert_seconds'],
    ['{"first_alert_seconds":1.5,"second_alert_seconds":60}', '#/first_alert_seconds'],
    ['{"first_alert_seconds":"1","second_alert_seconds":60}', '#/first_alert_seconds'],
    ['{"first_alert_seconds":1,"second_alert_seconds":2,"third":3}', '#/third'],
    ['{"first_alert_seconds":1,"second_alert_seconds":2,"staff_alerts":{"enabled":true}}', '#/staff_alerts/emails'],
    [
      '{"first_alert_seconds":1,"second_alert_seconds":2,"staff_alerts":{"enabled":true,"emails":["a@b.example","A@b.example"]}}',
      '#/staff_alerts/emails/1',
    ],
    [
      '{"first_alert_seconds":1,"second_alert_seconds":2,"staff_alerts":{"enabled":true,"emails":["a@b.example\\r\\nBcc: c@d.example"]}}',
      '#/staff_alerts/emails/0',
    ],
  ])('are refused as %s', async (body, pointer) => {
    const answer = await org.api.request('PUT', `/internal/orgs/${org.orgId}/live-chat-settings`, body);
    expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(`"pointer":"${pointer}"`)]);
  });
});

describe('whatever happens in between', () => {
  it('raises each crossing once when several sweep at the same time', async () => {
    const conversations = Array.from({ length: 300 }, (_, index) => `cnv_${index}`);
    await org.happens(...conversations.map((conversation) => ({ event: 'handed_off', conversation })));
    const swept = await Promise.all(Array.from({ length: 4 }, () => suite.sweepAfter(500).round()));
    expect(swept.reduce((sum, { raised }) => sum + raised, 0)).toBe(600);
    // What one was at, the others have left to it; nothing is left to the next.
    expect((await suite.sweepAfter(501).round()).raised).toBe(0);
    const events = await eventually(async () => {
      const found = await org.alertEvents();
      expect(found).toHaveLength(600);
      return found;
    });
    const staffAlerts = await org.staffAlerts();
    expect(staffAlerts.map(({ event_id }) => event_id).toSorted()).toEqual(events.map(({ id }) => id).toSorted());
  });

  it.each(['before writing', 'after writing'] as const)(
    'publishes once what was decided by a process that died %s',
    async (dies) => {
      await org.happens({ event: 'handed_off' });
      const dying = suite.sweepAfter(500, { dies }).round();
      const failed = dying
        .then(({ failures }) => [...failures.values()].map(String))
        .catch((error: unknown) => [String(error)]);
      expect(await failed).toEqual(['Error: killed']);
      expect(await suite.sweepAfter(505).round()).toMatchObject({ raised: 0, published: 2 });
      expect(await suite.sweepAfter(510).round()).toMatchObject({ raised: 0, published: 0 });
      const events = await expectRaised(['conversation.queued cnv_1', 'conversation.queued.escalated cnv_1']);
      // It has the time of the decision, not of its publication.
      expect(events[0]?.occurred_at).toBe(new Date(HANDED_OFF_AT_MS + 500_000).toISOString());
    },
  );

  it.each([false, true])('raises nothing again when the log is folded again (all tables lost: %s)', async (all) => {
    await org.happens({ event: 'handed_off' }, { event: 'handed_off', conversation: 'cnv_2', afterSeconds: 200 });
    await suite.sweepAfter(60).round();
    await expectRaised(['conversation.queued cnv_1']);
    const [place] = await suite.store.query<{ log_partition: number }>(
      'select log_partition from waiting_conversations where org_id = $1 limit 1',
      [org.orgId],
    );
    await suite.store.transaction(async (runner) => {
      // The fold moves this row first, so it folds nothing in between.
      await runner.query(
        `update projection_offsets set next_offset = 0 where projection = 'alerting' and partition = $1`,
        [place?.log_partition],
      );
      await runner.query('delete from waiting_conversations');
      await runner.query('delete from chat_queues');
      if (all) await runner.query('delete from alerts');
    });
    await org.happens({ event: 'handed_off', conversation: 'cnv_3', afterSeconds: 200 });
    await suite.sweepAfter(100).round();
    expect(await org.list<QueueJson>('waiting-conversations')).toMatchObject({
      data: [
        { conversation_id: 'cnv_1', stage: 1, waiting_since: new Date(HANDED_OFF_AT_MS).toISOString() },
        { conversation_id: 'cnv_2', stage: 0 },
        { conversation_id: 'cnv_3', stage: 0 },
      ],
      waiting: 3,
    });
    await suite.sweepAfter(250).round();
    await expectRaised(['conversation.queued cnv_1']);
  });

  it('raises nothing for a queue that lags the log', async () => {
    await org.happens({ event: 'handed_off' });
    await suite.sweepAfter(1).round();
    await suite.store.transaction(async (runner) => {
      // The fold waits for this row.
      await runner.query(`select 1 from projection_offsets where projection = 'alerting' for update`);
      await org.happens({ event: 'picked_up', afterSeconds: 30 });
      const swept = await suite.sweepAfter(500, { patienceMs: 1_500 }).round();
      expect(swept.raised).toBe(0);
      expect(swept.partitions.length).toBeLessThan(PARTITIONS);
    });
    const swept = await suite.sweepAfter(500).round();
    expect([swept.raised, swept.partitions.length]).toEqual([0, PARTITIONS]);
    await expectRaised([]);
  });

  it('raises nothing while Kafka is away', async () => {
    await org.happens({ event: 'handed_off' });
    await suite.sweepAfter(1).round();
    await expect(suite.sweepAfter(500, { brokers: `127.0.0.1:${await freePort()}` }).round()).rejects.toThrow();
    await expectRaised([]);
  });
});

describe('mails of staff alerts', () => {
  it('reach a mail server: one for each alert, tried again until it takes it', async () => {
    const port = await freePort();
    const url = `smtp://127.0.0.1:${port}/?from=alerts@gapless.example`;
    await org.set(60, 300, { enabled: true, emails: ['mara@example.com', 'night-shift@example.com'] });
    await org.happens({ event: 'handed_off' });
    await suite.sweepAfter(300).round();
    const transport = createMailTransport(url);
    const metrics = new Metrics();
    const mailsAfter = (seconds: number) =>
      new MailRounds({
        mails: new AlertMails(suite.store),
        transport,
        context: { from: senderOf(url), publicUrl: 'https://gapless.example' },
        limits: { perHour: 200, domains: [] },
        clock: { now: () => HANDED_OFF_AT_MS + seconds * 1_000 },
        logger: createLogger('silent', 'test'),
        metrics,
        health: new HealthBoard(),
      }).round(new AbortController().signal);
    // A round leaves out alerts that another transaction holds at that moment.
    const bothAreTriedAfter = async (seconds: number) => {
      let tried = 0;
      await eventually(async () => {
        tried += await mailsAfter(seconds);
        expect(tried).toBe(2);
      });
    };
    // Nobody listens yet.
    await bothAreTriedAfter(300);
    const server = await aMailServer(port);
    expect(await mailsAfter(309)).toBe(0);
    server.refusal = 'not now';
    await bothAreTriedAfter(311);
    server.refusal = null;
    expect(await mailsAfter(320)).toBe(0);
    await bothAreTriedAfter(331);
    expect(await mailsAfter(10_000)).toBe(0);
    await transport.close();
    await server.close();
    const { text } = await metrics.scrape();
    expect(text.match(/(?<=^gapless_alert_mails_total).*$/gm)).toEqual([
      '{outcome="sent"} 2',
      '{outcome="retry"} 4',
      '{outcome="exhausted"} 0',
      '{outcome="untried"} 0',
      '{outcome="limited"} 0',
    ]);

    const [first, second] = server.mails.toSorted((one, other) =>
      one.headers['subject']!.startsWith('Still') ? 1 : other.headers['subject']!.startsWith('Still') ? -1 : 0,
    );
    expect(server.mails).toHaveLength(2);
    const [raised, escalated] = await org.staffAlerts();
    for (const mail of server.mails) {
      expect(mail).toMatchObject({
        from: 'alerts@gapless.example',
        to: ['mara@example.com', 'night-shift@example.com'],
        headers: { 'auto-submitted': 'auto-generated' },
      });
    }
    expect(first?.headers).toMatchObject({
      subject: 'Nobody has answered for 5 min: Where is my parcel?',
      'message-id': `<${raised!.alert_id}@gapless.example>`,
    });
    expect(second?.headers).toMatchObject({
      subject: 'Still nobody has answered, for 5 min: Where is my parcel?',
      'message-id': `<${escalated!.alert_id}@gapless.example>`,
      references: `<${raised!.alert_id}@gapless.example>`,
      'x-priority': '1 (Highest)',
    });
    for (const type of ['text/plain', 'text/html']) {
      expect(first?.parts[type]).toContain('https://dashboard.example.com/conversations/cnv_1');
      expect(first?.parts[type]).toContain('Jonas Weber (jonas.weber@example.com, DE, de-DE), verified');
    }
  });
});

// Last: it sweeps by the time of the day, at which everything above is long overdue.
describe('an alerting process', () => {
  it('raises an alert, notifies the staff and sends the mail by itself', async () => {
    const server = await aMailServer();
    await org.set(60, 3_600, { enabled: true, emails: ['mara@example.com'] });
    const data = conversationData('cnv_live', { subject: 'Live' });
    const alerting = await suite.gapless.start([AlertingModule], {
      env: { SWEEP_INTERVAL: '200ms', SMTP_URL: server.url },
    });
    const handedOffSecondsAgo = 65;
    const now = (Date.now() - HANDED_OFF_AT_MS) / 1_000;
    await org.happens({ event: 'handed_off', data, afterSeconds: now - handedOffSecondsAgo });
    await eventually(() => {
      expect(server.mails.map(({ headers }) => headers['subject'])).toEqual([
        expect.stringMatching(/^Nobody has answered for 1 min \d+ s: Live$/),
      ]);
    });
    await expectRaised(['conversation.queued cnv_live']);
    await alerting.stop();
    await server.close();
  });

  it('stays ready while its sweeps fail, and shows that they do', async () => {
    const alerting = await suite.gapless.start([AlertingModule], { env: { SWEEP_INTERVAL: '200ms' } });
    const shown = async () => {
      const response = await fetch(`${alerting.url}/health/ready`);
      const { parts } = (await response.json()) as { parts: Readonly<Record<string, unknown>> };
      return [response.status, parts['sweeps of waiting chats']];
    };
    const reason = 'the last one failed: see alerting.waiting in the log';
    await eventually(async () => {
      expect(await shown()).toEqual([200, { status: 'ready' }]);
    });
    await suite.store.query('alter table live_chat_settings rename to live_chat_settings_away');
    await eventually(async () => {
      expect(await shown()).toEqual([200, { status: 'degraded', reason }]);
    });
    await suite.store.query('alter table live_chat_settings_away rename to live_chat_settings');
    await eventually(async () => {
      expect(await shown()).toEqual([200, { status: 'ready' }]);
    });
    await alerting.stop();
  });
});
