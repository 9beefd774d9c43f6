import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { conversationData } from '../../support/conversations.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { scrape, valueOf } from '../../support/scrape.js';
import { DeliverySuite, type Subscribed } from '../delivery/support/delivery-suite.js';
import { envelopeOf } from '../delivery/support/pushes.js';

const FIRST_S = 2;
const SECOND_S = 4;
/** The aim is 250 ms on a machine that has nothing else to do. The regular sweep would come after an hour. */
const PROMPT_MS = 60_000;
const RAISED = ['conversation.queued', 'conversation.queued.escalated'];

interface Push {
  readonly event: string;
  readonly chat: string;
  readonly atMs: number;
}

let suite: DeliverySuite;

beforeAll(async () => {
  // No regular sweep comes in time.
  suite = await DeliverySuite.start({ SWEEP_INTERVAL: '1h' });
});

afterAll(() => suite.stop());

async function aDesk(): Promise<Subscribed> {
  const desk = await suite.aSubscriber({ events: RAISED });
  const settings = { first_alert_seconds: FIRST_S, second_alert_seconds: SECOND_S };
  const body = JSON.stringify({ ...settings, staff_alerts: { enabled: true, emails: [] } });
  const path = `/internal/orgs/${desk.operator.orgId}/live-chat-settings`;
  expect((await desk.operator.api.request('PUT', path, body)).status).toBe(200);
  return desk;
}

function handedOff(chat: string, atMs: number) {
  return { event: 'conversation.handed_off', occurred_at: new Date(atMs).toISOString(), data: conversationData(chat) };
}

function pickedUp(chat: string) {
  const data = { ...conversationData(chat, { status: 'active' }), picked_up_by: { id: 'usr_1', name: 'Mara' } };
  return { event: 'conversation.picked_up', data };
}

function chatOf(data: unknown): string {
  return (data as { readonly conversation: { readonly id: string } }).conversation.id;
}

function pushesOf({ receiver }: Subscribed): readonly Push[] {
  return receiver.received.map((push) => {
    const { event, data } = envelopeOf(push);
    return { event, chat: chatOf(data), atMs: push.atMs };
  });
}

async function pushed(desk: Subscribed, count: number): Promise<readonly Push[]> {
  return eventually(() => {
    const pushes = pushesOf(desk);
    expect(pushes.length).toBeGreaterThanOrEqual(count);
    return pushes;
  });
}

it('alerting shows that no sweep is overdue while none comes', async () => {
  const inTimeUntil = async () => valueOf(await scrape(suite.app.url), 'gapless_alerting_swept_timestamp_seconds')!;
  const before = await inTimeUntil();
  await eventually(async () => {
    expect(await inTimeUntil()).toBeGreaterThan(before);
  });
});

describe('an alert', () => {
  it('is pushed soon after each threshold, and only for a chat that still waits', async () => {
    const desk = await aDesk();
    const atMs = Date.now();
    await desk.operator.emit(handedOff('cnv_1', atMs), handedOff('cnv_2', atMs), pickedUp('cnv_2'));
    const pushes = await pushed(desk, 2);
    expect(pushes.map(({ chat }) => chat)).toEqual(['cnv_1', 'cnv_1']);
    expect(pushes.map(({ event }) => event).toSorted()).toEqual(RAISED);
    for (const [index, afterS] of [FIRST_S, SECOND_S].entries()) {
      const push = pushes.find(({ event }) => event === RAISED[index])!;
      const lateMs = push.atMs - atMs - afterS * 1_000;
      expect(lateMs).toBeGreaterThanOrEqual(0);
      expect(lateMs).toBeLessThan(PROMPT_MS);
    }
  });

  it('is pushed soon for a chat whose hand-off comes late', async () => {
    const desk = await aDesk();
    const atMs = Date.now();
    await desk.operator.emit(handedOff('cnv_1', atMs - 60_000));
    const pushes = await pushed(desk, 2);
    expect(pushes.map(({ event }) => event).toSorted()).toEqual(RAISED);
    for (const push of pushes) expect(push.atMs - atMs).toBeLessThan(PROMPT_MS);
  });

  it('comes once for each of 2,000 chats that pass their thresholds together', async () => {
    const desk = await aDesk();
    const atMs = Date.now() + 5_000;
    for (let from = 0; from < 2_000; from += 500) {
      await desk.operator.emit(
        ...Array.from({ length: 500 }, (_, index) => handedOff(`cnv_${from + index}`, atMs - index)),
      );
    }
    await eventually(
      async () => {
        const raised = (await desk.operator.api.feed()).filter(({ event }) => RAISED.includes(event));
        expect(raised).toHaveLength(4_000);
        const crossings = raised.map(({ event, data }) => `${event} ${chatOf(data)}`);
        expect(new Set(crossings).size).toBe(4_000);
      },
      { timeoutMs: 180_000, intervalMs: 1_000 },
    );
  });
});
