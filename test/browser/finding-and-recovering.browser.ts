import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page, Request } from 'playwright-core';
import type { Operator } from '../e2e/delivery/support/operator.js';
import { seqsAt } from '../e2e/delivery/support/pushes.js';
import { conversationData } from '../support/conversations.js';
import { aWidgetId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import type { Receiver } from '../support/receiver.js';
import { aTcpProxy } from '../support/tcp-proxy.js';
import { violations } from './support/accessibility.js';
import { FrontDesk } from './support/front-desk.js';
import { holdAnswers } from './support/hold-answers.js';
import type { Visitor } from './support/visitor.js';

/** A delivery that fails is soon being retried, and stays so. No endpoint is disabled by itself. */
const ENVIRONMENT = { RETRY_SCHEDULE: '100ms,1h', AUTO_DISABLE_AFTER: '10000', SWEEP_INTERVAL: '200ms' };
const TICKET = { event: 'ticket.created', data: { id: 'tkt_1', subject: 'Where is my parcel?' } };

let desk: FrontDesk;

beforeAll(async () => {
  desk = await FrontDesk.open(ENVIRONMENT);
});

afterEach(async () => {
  expect(await desk.clear()).toEqual([]);
});

afterAll(async () => {
  await desk.close();
});

const tickets = (count: number) => Array.from({ length: count }, () => TICKET);

/** The seqs of the listed events, from the top. */
async function listedSeqs({ page }: Visitor): Promise<readonly number[]> {
  const lines = page.getByRole('list', { name: 'Events, newest first' }).locator('.event-seq');
  return (await lines.allTextContents()).map((text) => Number(text.replace('#', '')));
}

/** Every seq from the first down to the last. */
function down(from: number, to: number): readonly number[] {
  return Array.from({ length: from - to + 1 }, (_, index) => from - index);
}

/** So many events that are in the feed already. */
async function aFeedOf(operator: Operator, count: number): Promise<void> {
  await operator.emit(...tickets(count));
  await eventually(async () => {
    expect(await operator.api.feed()).toHaveLength(count);
  });
}

/**
 * An endpoint whose deliveries have failed: they were being retried when it was paused, and it is active again.
 * @param attempts how many attempts of the delivery of a seq are awaited before
 */
async function anEndpointThatFailed(
  operator: Operator,
  receiver: Receiver,
  count: number,
  attempts: (seq: number) => number = () => 2,
): Promise<string> {
  const { id } = await operator.register({ url: receiver.url, events: ['ticket.created'], name: 'CRM' });
  await operator.emit(...tickets(count));
  await eventually(async () => {
    const deliveries = await operator.deliveries(id);
    expect(deliveries.map((delivery) => delivery.attempts)).toEqual(deliveries.map(({ seq }) => attempts(seq)));
    expect(deliveries).toHaveLength(count);
  });
  await operator.change(id, { is_active: false });
  await operator.change(id, { is_active: true });
  return id;
}

describe('the list of events', () => {
  it('has every event in its place, however many come', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await operator.emit(TICKET);
    await visitor.open('/events');
    await page.getByText('Live', { exact: true }).waitFor();
    for (let round = 0; round < 3; round++) await operator.emit(...tickets(500));
    await page.locator('.event-seq', { hasText: /^#1501$/ }).waitFor();
    const seqs = await listedSeqs(visitor);
    expect(seqs).toEqual(down(1_501, seqs.at(-1)!));
    await visitor.button('Older').click();
    await eventually(async () => {
      expect((await listedSeqs(visitor)).length).toBeGreaterThan(seqs.length);
    });
    const all = await listedSeqs(visitor);
    expect(all).toEqual(down(1_501, all.at(-1)!));
  });

  it('stands still while it is paused, and counts what is new', async () => {
    const { visitor, operator } = await desk.aDesk();
    await aFeedOf(operator, 1);
    await visitor.open('/events');
    await visitor.page.getByText('Live', { exact: true }).waitFor();
    await visitor.page.locator('.event-seq', { hasText: '#1' }).waitFor();
    await visitor.button('Pause').click();
    await operator.emit(...tickets(3));
    await visitor.see('Paused · 3 new');
    expect(await listedSeqs(visitor)).toEqual([1]);
    await visitor.button('Continue').click();
    await visitor.page.locator('.event-seq', { hasText: '#4' }).waitFor();
    expect(await listedSeqs(visitor)).toEqual([4, 3, 2, 1]);
  });

  it('shows older events while it is paused, and newer ones than a seq after that', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await aFeedOf(operator, 60);
    await visitor.open('/events');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.locator('.event-seq', { hasText: '#60' }).waitFor();
    await visitor.button('Pause').click();
    await operator.emit(...tickets(3));
    await visitor.see('Paused · 3 new');
    expect(await listedSeqs(visitor)).toEqual(down(60, 11));
    await visitor.button('Older').click();
    await eventually(async () => {
      expect(await listedSeqs(visitor)).toEqual(down(60, 1));
    });
    await visitor.see('Paused · 3 new');
    await visitor.button('Continue').click();
    await eventually(async () => {
      expect(await listedSeqs(visitor)).toEqual(down(63, 1));
    });
    await visitor.button('Pause').click();
    await visitor.find('#5');
    await visitor.see('Up to #5');
    await visitor.button('Newer').click();
    await eventually(async () => {
      expect(await listedSeqs(visitor)).toEqual(down(55, 1));
    });
  });

  it('shows older events after the read of new ones that was under way', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await aFeedOf(operator, 60);
    await visitor.open('/events');
    await page.getByText('Live', { exact: true }).waitFor();
    const ofNew = /\/external\/events\?.*limit=500/;
    const release = await holdAnswers(page, ofNew);
    const asked = page.waitForRequest(ofNew);
    await operator.emit(TICKET);
    await asked;
    await visitor.button('Older').click();
    release();
    await eventually(async () => {
      expect(await listedSeqs(visitor)).toEqual(down(61, 1));
    });
  });

  it('says that it cannot be read any more, keeps what it shows, and goes on by itself', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await aFeedOf(operator, 60);
    await visitor.open('/events');
    const live = page.getByText('Live', { exact: true });
    await live.waitFor();
    await visitor.button('Older').waitFor();
    await page.route('**/external/events?*', (route) => route.fulfill({ status: 429, json: {} }));
    await visitor.button('Older').click();
    await page.getByRole('alert').filter({ hasText: 'Too many requests' }).waitFor();
    await page.getByText('Not updated', { exact: true }).waitFor();
    expect(await live.count()).toBe(0);
    expect(await listedSeqs(visitor)).toEqual(down(60, 11));
    await page.unroute('**/external/events?*');
    await live.waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    // Each refused request is what the browser complains of.
    expect(visitor.complaints.splice(0).filter((text) => !text.includes('429'))).toEqual([]);
  });

  it('leads back to the event and the filter before', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await operator.emit(TICKET, TICKET, { ...TICKET, event: 'ticket.reply' });
    await visitor.open('/events');
    await page.getByRole('link', { name: /#2 / }).click();
    await page.getByRole('link', { name: /#1 / }).click();
    await page.getByLabel('Event type').selectOption('ticket.reply');
    await page.getByRole('link', { name: /#2 / }).waitFor({ state: 'detached' });
    await page.goBack();
    await page.locator('.event-line-open', { hasText: '#1' }).waitFor();
    expect(await page.getByLabel('Event type').inputValue()).toBe('');
    await page.goBack();
    await page.locator('.event-line-open', { hasText: '#2' }).waitFor();
  });

  it('keeps the focus in the filter of a widget, whose text follows the address', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/events');
    const field = page.getByLabel('Widget id');
    await field.fill(aWidgetId());
    await visitor.see('No event matches the filters');
    expect(await page.evaluate<string>('document.activeElement.placeholder')).toBe('Any widget (id)');
    await page.goBack();
    await visitor.see('No events yet');
    expect(await field.inputValue()).toBe('');
  });
});

describe('the search box', () => {
  it('finds events, deliveries and endpoints by their ids, and events by seq', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { id } = await operator.register({
      url: (await desk.suite.aReceiver()).url,
      events: ['ticket.created'],
      name: 'CRM',
    });
    const ids = await operator.emit(...tickets(120));
    await eventually(async () => {
      expect(await operator.deliveries(id)).toHaveLength(120);
    });
    const [delivery] = await operator.deliveries(id);

    await visitor.open('/');
    await visitor.heading('Overview').waitFor();
    await visitor.find(` ${ids[59]!} `);
    await page.getByRole('heading', { name: 'ticket.created', level: 2 }).waitFor();
    await visitor.see('Up to #60');
    await visitor.button('Newer').click();
    await eventually(async () => {
      expect(await listedSeqs(visitor)).toEqual(down(110, 11));
    });

    await visitor.find(delivery!.id);
    await visitor.heading('ticket.created').waitFor();
    await visitor.see(delivery!.id);
    await visitor.find(`"endpoint_id": "${id}"`);
    await visitor.heading('CRM').waitFor();
    await visitor.find('#7');
    await visitor.see('Up to #7');
    await visitor.find('#5000');
    await visitor.see('#5000 is not there yet: the newest is #120');
    expect(await listedSeqs(visitor)).toEqual(down(120, 71));
    // That there is no such event is what the browser complains of.
    visitor.complaints.splice(0);
  });

  it('finds a recovery with its endpoint, and what its progress is', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await operator.emit(...tickets(2));
    await eventually(async () => {
      expect(await operator.api.feed()).toHaveLength(2);
    });
    const { url } = await desk.suite.aReceiver();
    const { id } = await operator.register({ url, events: ['ticket.created'], name: 'CRM' });
    const { id: recovery } = await operator.beginRecovery(id, { since_seq: 0, status: 'never_sent' });
    await visitor.open('/');
    await visitor.heading('Overview').waitFor();
    await visitor.find(`recovery ${recovery!} please`);
    await page.getByRole('region', { name: 'Recovery' }).getByText(recovery!).waitFor();
    await visitor.see('Never sent events of all that is kept');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'CRM' }).click();
    await page.getByRole('region', { name: 'Recoveries' }).getByText(recovery!).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('finds a chat by its id, and endpoints by their name or URL', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    await operator.register({ url, events: ['ticket.created'], name: 'CRM sync' });
    const chat = {
      event: 'conversation.handed_off',
      occurred_at: new Date(Date.now() - 3_600_000).toISOString(),
      data: conversationData('cnv/1 ü', { subject: "Ada's parcel" }),
    };
    await operator.emit(chat);
    await visitor.open('/alerts');
    await page.getByRole('region', { name: 'Recent alerts' }).getByText("Ada's parcel").first().waitFor();
    await visitor.find('cnv/1 ü');
    await page
      .getByRole('region', { name: /is waiting$/ })
      .getByText("Ada's parcel")
      .waitFor();
    await page
      .getByRole('region', { name: /has raised alerts$/ })
      .getByText('Still waiting')
      .first()
      .waitFor();
    expect(await violations(page)).toEqual([]);
    await visitor.find('crm');
    await page.getByRole('region', { name: 'Endpoints' }).getByRole('link', { name: 'CRM sync' }).waitFor();
    await visitor.find(new URL(url).host);
    await page.getByRole('region', { name: 'Endpoints' }).getByRole('link', { name: 'CRM sync' }).click();
    await visitor.heading('CRM sync').waitFor();
  });

  it('finds a chat or an endpoint by a number, beside the event, and the event where there is nothing else', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    await operator.register({ url, events: ['ticket.created'], name: 'Shop 900002' });
    const chat = {
      event: 'conversation.handed_off',
      occurred_at: new Date(Date.now() - 3_600_000).toISOString(),
      data: conversationData('900001', { subject: "Ada's parcel" }),
    };
    await operator.emit(chat, ...tickets(2));
    await visitor.open('/alerts');
    await page.getByRole('region', { name: 'Recent alerts' }).getByText("Ada's parcel").first().waitFor();
    await visitor.find('900001');
    await page
      .getByRole('region', { name: /is waiting$/ })
      .getByText("Ada's parcel")
      .waitFor();
    await page.getByRole('link', { name: 'Event #900001' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await visitor.find('900002');
    await page.getByRole('region', { name: 'Endpoints' }).getByRole('link', { name: 'Shop 900002' }).waitFor();
    await page.getByRole('link', { name: 'Event #900002' }).click();
    await visitor.see(/^#900002 is not there yet/);
    await visitor.find('900003');
    await visitor.see(/^#900003 is not there yet/);
    // That there are no such events is what the browser complains of.
    visitor.complaints.splice(0);
  });

  it('says that there is no such thing', async () => {
    const { visitor } = await desk.aDesk();
    await visitor.open('/');
    await visitor.heading('Overview').waitFor();
    await visitor.find('evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG');
    await visitor.see('There is no event evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG');
    await visitor.open('/find?q=parcel');
    await visitor.see('Nothing found for “\u2068parcel\u2069”');
    expect(visitor.complaints.splice(0)).toEqual([expect.stringContaining('404')]);
  });
});

describe('the list of endpoints', () => {
  it('is filtered by name, URL and health, in its address', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    for (const name of ['CRM', 'Pager', 'Lake', 'Mail', 'Bot', 'Shop']) {
      const { id } = await operator.register({ url, events: ['ticket.created'], name });
      if (name === 'Pager') await operator.change(id, { is_active: false });
    }
    const rows = page.getByRole('row').filter({ has: page.getByRole('link') });
    await visitor.open('/endpoints');
    await rows.nth(5).waitFor();
    await page.getByLabel('Health').selectOption('paused');
    await rows.filter({ hasText: 'CRM' }).waitFor({ state: 'detached' });
    expect(await rows.getByRole('link').allTextContents()).toEqual(['Pager']);
    await page.reload();
    await rows.filter({ hasText: 'Pager' }).waitFor();
    const field = page.getByLabel('Name or URL');
    await field.fill('pr');
    // The caret stays where it is.
    await field.press('ArrowLeft');
    await field.pressSequentially('ai');
    expect(await field.inputValue()).toBe('pair');
    await page.waitForURL(/text=pair/);
    expect(await field.inputValue()).toBe('pair');
    await visitor.see('No endpoint matches the filters');
    expect(await violations(page)).toEqual([]);
    await visitor.button('Clear the filters').click();
    await rows.nth(5).waitFor();
    expect(await field.inputValue()).toBe('');
  });

  it('draws the first 100 of thousands, and does not request the activity of all at each change', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    const { id } = await operator.register({ url, events: ['ticket.created'], name: 'CRM' });
    // The activity may be remembered from before the endpoint was there.
    const many = <T extends object>(all: readonly T[], change: (one: T, n: number) => Partial<T>) =>
      all.flatMap((one) => Array.from({ length: 2_000 }, (_, n) => ({ ...one, ...change(one, n) })));
    await page.route('**/external/webhooks', async (route) => {
      const response = await route.fetch();
      const { data } = (await response.json()) as { data: { id: string; name: string }[] };
      const endpoints = many(data, (one, n) => ({ id: `${one.id}${n}`, name: `${one.name} ${n}` }));
      await route.fulfill({ response, json: { data: endpoints } });
    });
    const sent: number[] = [];
    await page.route('**/dashboard/activity*', async (route) => {
      const response = await route.fetch();
      const { data } = (await response.json()) as { data: { endpoint_id: string }[] };
      const activity = many(data, (one, n) => ({ endpoint_id: `${one.endpoint_id}${n}` }));
      sent.push(activity.length);
      await route.fulfill({ response, json: { data: activity } });
    });
    const rows = page.getByRole('row').filter({ has: page.getByRole('link') });
    await visitor.open('/endpoints');
    await visitor.see('100 of 2,000 shown');
    expect(await rows.count()).toBe(100);
    await visitor.button('Show more').click();
    await visitor.see('200 of 2,000 shown');
    expect(await rows.count()).toBe(200);
    expect(await violations(page)).toEqual([]);
    await eventually(() => {
      expect(sent).toContain(2_000);
    });
    // It may be requested once more, because the stream of changes was not open at first.
    const before = sent.length;
    for (const name of ['Shop', 'Lake']) {
      await operator.change(id, { name });
      await rows.getByRole('link', { name: `${name} 199` }).waitFor();
    }
    expect(sent.length - before).toBeLessThan(2);
    await page.getByLabel('Name or URL').fill('lake 1999');
    await rows.getByRole('link', { name: 'Lake 1999' }).waitFor();
    expect(await rows.count()).toBe(1);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('is reached from the audit log, by the ids in it', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    const { id } = await operator.register({ url: `${url}?token=s3cret`, events: ['ticket.created'], name: 'CRM' });
    await visitor.open('/audit-log');
    await page.getByText('URL: ').first().waitFor();
    expect(await page.getByText('s3cret').count()).toBe(0);
    await page.getByRole('link', { name: id }).click();
    await visitor.heading('CRM').waitFor();
  });
});

describe('the health of an endpoint', () => {
  it('is the share of recent deliveries that fail, and what is broken comes first', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const half = await desk.suite.aReceiver((_request, response, { headers }) =>
      Number(headers['x-service-sequence']) % 2 === 0 ? response.end('ok') : response.writeHead(503).end(),
    );
    const good = await desk.suite.aReceiver();
    const endpoint = (name: string, url: string, event = 'ticket.created') =>
      operator.register({ name, url, events: [event] });
    const fine = await endpoint('Fine', good.url);
    const bad = await endpoint('Half', half.url);
    const paused = await endpoint('Paused one', good.url);
    const quiet = await endpoint('Quiet', good.url, 'lead.created');
    await operator.change(paused.id, { is_active: false });
    await operator.emit(...tickets(40));
    const statusOf = async (id: string) => (await operator.endpoint(id)).health.status;
    await eventually(async () => {
      expect((await operator.endpoint(bad.id)).health).toMatchObject({
        status: 'failing',
        recent_deliveries: 40,
        recent_failed: 20,
      });
    });
    expect(await Promise.all([fine, paused, quiet].map(({ id }) => statusOf(id)))).toEqual([
      'healthy',
      'paused',
      'never_tried',
    ]);

    await visitor.open('/');
    await visitor.see('1 endpoint does not get its events');
    await visitor.see('20 of 40 failed in the last hour');
    await visitor.see('1 failing, 1 paused, 1 never tried, 1 healthy');
    await visitor.open('/endpoints');
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
    await row('Fine').getByText('Healthy').waitFor();
    await row('Half').getByText('Failing').waitFor();
    await row('Paused one').getByText('Paused', { exact: true }).waitFor();
    await row('Quiet').getByText('Never tried').waitFor();
  });
});

describe('a delivery that ended with its endpoint', () => {
  it('says so instead of the last response, and what to do next', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const receiver = await desk.aFailingReceiver(500, '{"error":"database is locked"}');
    const id = await anEndpointThatFailed(operator, receiver, 1);
    await operator.change(id, { is_active: false });
    await visitor.open(`/endpoints/${id}`);
    await page.getByRole('cell', { name: 'Endpoint disabled, after HTTP 500' }).waitFor();
    await page.getByRole('link', { name: 'ticket.created' }).click();
    await visitor.see('Ended after 2 attempts, because the endpoint was disabled');
    await visitor.see('Enable the endpoint, then replay or recover.');
    const replay = visitor.button('Replay');
    expect(await replay.getAttribute('aria-disabled')).toBe('true');
    expect(await replay.getAttribute('title')).toBe('The endpoint is not active. Enable it first.');

    const answer = page.getByRole('region', { name: 'Answer to attempt 2' });
    expect(await answer.textContent()).toBe('{\n  "error": "database is locked"\n}');
    expect(await page.getByRole('region', { name: 'As sent, byte for byte' }).count()).toBe(0);
    await page.getByRole('tab', { name: 'Raw' }).click();
    const [{ body } = { body: '' }] = receiver.received;
    expect(await page.getByRole('region', { name: 'As sent, byte for byte' }).textContent()).toBe(body.toString());
    expect(await page.getByRole('region', { name: 'For reading' }).count()).toBe(0);
  });
});

describe('a delivery that waits for its turn', () => {
  it('says so, and is sent when the one before it is skipped', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const receiver = await desk.suite.aReceiver((_request, response, { headers }) =>
      response.writeHead(headers['x-service-sequence'] === '1' ? 503 : 200).end(),
    );
    const { id } = await operator.register({
      url: receiver.url,
      events: ['ticket.created'],
      ordering: { by: 'endpoint' },
    });
    await operator.emit(...tickets(2));
    const [first, second] = await eventually(async () => {
      const found = await operator.deliveries(id);
      expect(found).toMatchObject([
        { seq: 1, status: 'pending', attempts: 2 },
        { seq: 2, status: 'pending', attempts: 0 },
      ]);
      return found;
    });
    await visitor.open(`/endpoints/${id}/deliveries/${second!.id}`);
    await visitor.see('Waits for its turn');
    const waits = page.getByRole('region', { name: 'Waits' });
    await waits.getByText('Waits for its turn in the order').waitFor();
    await visitor.open(`/endpoints/${id}/deliveries/${first!.id}`);
    await visitor.see(/^Attempt 3 is due/);
    await waits.getByText('Waits for the next attempt').waitFor();
    expect(await violations(page)).toEqual([]);
    await visitor.button('Skip').click();
    await visitor.see('Deliveries that waited for it go on.');
    await visitor.see('Skipped after 2 attempts');
    await visitor.button('Skip').waitFor({ state: 'detached' });
    await visitor.open(`/endpoints/${id}/deliveries/${second!.id}`);
    await visitor.see('HTTP 200');
    await waits.getByText('Waited for its turn in the order').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(seqsAt(receiver)).toEqual([1, 1, 2]);
  });
});

describe('a recovery', () => {
  it('begins at a row, tests first, and shows its outcome', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const receiver = await desk.aFailingReceiver();
    const id = await anEndpointThatFailed(operator, receiver, 5);
    await visitor.open(`/endpoints/${id}`);
    await visitor.see('5 of 5 failed in the last hour');
    await visitor.button('Recover …').waitFor();
    const before = receiver.received.length;
    expect(await violations(page)).toEqual([]);
    await visitor.button('From here: recover from #3 on').click();
    expect(await page.getByLabel('First seq').inputValue()).toBe('3');
    await visitor.button('Recover 3').click();
    await visitor.see('The test failed, so nothing was recovered');
    expect(receiver.received.slice(before).map(({ headers }) => headers['x-service-event'])).not.toContain(
      'ticket.created',
    );
    await eventually(async () => {
      const tests = (await operator.deliveries(id)).filter(({ event }) => event !== 'ticket.created');
      expect(tests).toMatchObject([{ attempts: 2 }]);
    });

    receiver.answer = (_request, response) => response.end('ok');
    await visitor.button('Recover 3').click();
    // The two that failed before #3 are not its failures. The test that failed waits for its next attempt.
    await visitor.see('3 of 3 scheduled, 1 waiting at the endpoint.');
    await visitor.button('Done').click();
    await eventually(async () => {
      const deliveries = await operator.deliveries(id);
      const statuses = deliveries.filter(({ event }) => event === 'ticket.created').map(({ status }) => status);
      expect(statuses).toEqual(['failed', 'failed', 'delivered', 'delivered', 'delivered']);
    });
    expect(seqsAt(receiver)).toContain(3);
  });

  it('leaves a paused endpoint paused if the test fails', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const receiver = await desk.aFailingReceiver();
    const id = await anEndpointThatFailed(operator, receiver, 2);
    await operator.change(id, { is_active: false });
    await visitor.open(`/endpoints/${id}`);
    // The api may accept a test a little before it shows the delivery.
    let looks = 0;
    await page.route(/\/deliveries\/whd_/, (route) =>
      ++looks > 3 ? route.continue() : route.fulfill({ status: 404, json: {} }),
    );
    await visitor.button('Enable and recover …').click();
    await visitor.button('Enable and recover 2').click();
    await visitor.see('The test failed, so nothing was recovered');
    await visitor.see('The endpoint is paused again, and gets nothing.');
    expect((await operator.endpoint(id)).is_active).toBe(false);
    expect(await page.getByRole('heading', { name: 'Enable and recover' }).count()).toBe(1);

    receiver.answer = (_request, response) => response.end('ok');
    await page.getByRole('button', { name: /^Enable and recover \d/ }).click();
    await visitor.see(/(\d) of \1 scheduled, none waiting\./);
    expect((await operator.endpoint(id)).is_active).toBe(true);
    expect(looks).toBeGreaterThan(3);
    expect(visitor.complaints.splice(0).filter((text) => !text.includes('404'))).toEqual([]);
  });

  it('leaves a paused endpoint paused if the test cannot be sent, and says why', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const id = await anEndpointThatFailed(operator, await desk.aFailingReceiver(), 2);
    await operator.change(id, { is_active: false });
    await visitor.open(`/endpoints/${id}`);
    await page.route('**/test', (route) => route.fulfill({ status: 409, json: {} }));
    await visitor.button('Enable and recover …').click();
    await visitor.button('Enable and recover 2').click();
    await visitor.see('The server answered 409.');
    expect((await operator.endpoint(id)).is_active).toBe(false);
    expect(visitor.complaints.splice(0)).toEqual([expect.stringContaining('409')]);
  });

  it('does not begin after its dialog was closed during the test', async () => {
    const { visitor, operator } = await desk.aDesk();
    const receiver = await desk.aFailingReceiver();
    const id = await anEndpointThatFailed(operator, receiver, 2);
    await operator.change(id, { is_active: false });
    const held: (() => void)[] = [];
    receiver.answer = (_request, response) => {
      held.push(() => response.end('ok'));
    };
    await visitor.open(`/endpoints/${id}`);
    await visitor.button('Enable and recover …').click();
    await visitor.button('Enable and recover 2').click();
    await visitor.see('Testing …');
    await eventually(() => {
      expect(held).toHaveLength(1);
    });
    await visitor.button('Cancel').click();
    for (const answer of held) answer();
    await eventually(async () => {
      expect((await operator.endpoint(id)).is_active).toBe(false);
    });
    expect(await operator.recoveries(id)).toEqual([]);
  });

  it('sends a new endpoint what is in the feed already', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await operator.emit(...tickets(3));
    await eventually(async () => {
      expect(await operator.api.feed()).toHaveLength(3);
    });
    const receiver = await desk.suite.aReceiver();
    const { id } = await operator.register({ url: receiver.url, events: ['ticket.created'] });
    await visitor.open(`/endpoints/${id}`);
    await visitor.button('More actions').click();
    await page.getByRole('menuitem', { name: 'Recover deliveries …' }).click();
    await page.getByRole('radio', { name: 'Everything that is still kept' }).check();
    await page.getByRole('checkbox', { name: 'Events that were never sent' }).check();
    await visitor.button('Recover 3').click();
    await visitor.see('3 of 3 scheduled, none waiting.');
    await eventually(() => {
      expect(seqsAt(receiver).toSorted()).toEqual([1, 2, 3, 4]);
    });
  });

  it('covers all that failed, whatever succeeded since', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const half = await desk.suite.aReceiver((_request, response, { headers }) =>
      response.writeHead(Number(headers['x-service-sequence']) % 2 === 0 ? 200 : 503).end(),
    );
    const id = await anEndpointThatFailed(operator, half, 40, (seq) => (seq % 2 === 0 ? 1 : 2));
    half.answer = (_request, response) => response.end('ok');
    await visitor.open(`/endpoints/${id}`);
    await visitor.see('20 of 40 failed in the last hour');
    await visitor.button('Recover …').click();
    await visitor.button('Recover 20').waitFor();
    expect(await page.getByTestId('count-failed').textContent()).toBe('20');
    expect(await violations(page)).toEqual([]);
    await visitor.button('Recover 20').click();
    await visitor.see('20 of 20 scheduled, none waiting.');
    await eventually(async () => {
      const deliveries = await operator.deliveries(id);
      const events = deliveries.filter(({ status }) => status === 'delivered').map(({ event }) => event);
      expect(events.filter((event) => event === 'ticket.created')).toHaveLength(40);
    });
  });

  it('can begin although its count has given up before it found something', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const receiver = await desk.aFailingReceiver();
    const id = await anEndpointThatFailed(operator, receiver, 2);
    receiver.answer = (_request, response) => response.end('ok');
    await page.route('**/recover', (route) =>
      (route.request().postDataJSON() as { dry_run?: boolean }).dry_run === true
        ? route.fulfill({ status: 202, json: { data: { id: null, complete: false, matched: 0, scheduled: 0 } } })
        : route.continue(),
    );
    await visitor.open(`/endpoints/${id}`);
    await visitor.button('Recover …').click();
    await page.getByTestId('count-failed').getByText('0+').waitFor();
    await visitor.button('Recover').click();
    await visitor.see('2 of 2 scheduled, none waiting.');
  });

  it('covers what failed between two times', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const receiver = await desk.aFailingReceiver();
    const id = await anEndpointThatFailed(operator, receiver, 2);
    receiver.answer = (_request, response) => response.end('ok');
    await visitor.open(`/endpoints/${id}`);
    await visitor.button('Recover …').click();
    await page.getByRole('radio', { name: 'Between two times' }).check();
    await page.getByLabel('Until (optional)').fill('2020-01-01T00:00');
    await visitor.see('Must be later than the start.');
    expect(await visitor.button('Recover').isDisabled()).toBe(true);
    await page.getByLabel(/^From \(/).fill('2019-12-31T00:00');
    await eventually(async () => {
      expect(await page.getByTestId('count-failed').textContent()).toBe('0');
    });
    await page.getByLabel('Until (optional)').fill('');
    await visitor.button('Recover 2').click();
    await visitor.see('2 of 2 scheduled, none waiting.');
    await page.getByText('Recovery ended').waitFor();
  });
});

describe('the pages of a delivery log', () => {
  it('are in the address: Back leads to the page and the filter before', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { id } = await operator.register({ url: (await desk.suite.aReceiver()).url, events: ['ticket.created'] });
    await operator.emit(...tickets(60));
    await eventually(async () => {
      expect(await operator.deliveries(id)).toHaveLength(60);
    });
    await visitor.open(`/endpoints/${id}`);
    await page.getByLabel('Status').selectOption('delivered');
    await visitor.button('Older').click();
    await visitor.see('Page 2');
    await visitor.button('Older').click();
    await visitor.see('Page 3');
    await page.getByRole('link', { name: 'ticket.created' }).first().click();
    await visitor.heading('ticket.created').waitFor();
    await page.goBack();
    await visitor.see('Page 3');
    await page.reload();
    await visitor.see('Page 3');
    await visitor.button('Newer').click();
    await visitor.see('Page 2');
    await visitor.button('Newer').click();
    await visitor.see('Page 1');
    expect(await page.getByLabel('Status').inputValue()).toBe('delivered');
  });
});

/** What a page has asked for since this was called and has not got yet, except its streams, which have no end. */
function requestsUnderWay(page: Page): ReadonlySet<Request> {
  const underWay = new Set<Request>();
  page.on('request', (request) => {
    if (request.resourceType() !== 'eventsource') underWay.add(request);
  });
  page.on('requestfinished', (request) => underWay.delete(request));
  page.on('requestfailed', (request) => underWay.delete(request));
  return underWay;
}

describe('without a connection', () => {
  it('every page says since when it is not updated, and its timers stand still', async () => {
    const { operator, apiKey } = await desk.aDesk();
    const proxy = desk.suite.closing(await aTcpProxy(desk.suite.app.url));
    await proxy.open();
    const visitor = await desk.aVisitor({}, proxy.url);
    await visitor.bringSession(apiKey);
    await operator.emit({
      event: 'conversation.handed_off',
      occurred_at: new Date(Date.now() - 30_000).toISOString(),
      data: conversationData('cnv_1', { subject: "Ada's parcel" }),
    });
    await visitor.open('/alerts');
    const timer = visitor.page.locator('.chat-timer');
    await timer.waitFor();

    await proxy.close();
    await visitor.see(/Not updated since \d/);
    const frozen = await timer.textContent();
    await visitor.page.waitForTimeout(1_500);
    expect(await timer.textContent()).toBe(frozen);
    await visitor.page.getByRole('link', { name: 'Events' }).waitFor();

    await proxy.open();
    await visitor.page.getByText(/Not updated since/).waitFor({ state: 'detached' });
    await eventually(async () => {
      expect(await timer.textContent()).not.toBe(frozen);
    });
    // Requests that were not answered are what the browser complains of.
    expect(visitor.complaints.splice(0).filter((text) => !/ERR_|Failed to load/.test(text))).toEqual([]);
  });

  it('a page that began without an answer shows what it is about soon after the server is back', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    // The pages come from a cache or another server, as behind a proxy.
    await page.route('**/api/**', (route) => route.fulfill({ status: 503 }));
    await visitor.open('/');
    await visitor.button('Try again').waitFor();
    await page.waitForTimeout(3_000);
    await page.unroute('**/api/**');
    await visitor.heading('Overview').waitFor();
    await page.getByRole('region', { name: 'Endpoints' }).waitFor();
    expect(visitor.complaints.splice(0).filter((text) => !/503|unavailable/.test(text))).toEqual([]);
  });

  it('a server that answers nothing counts as away, and whatever waits for it ends with a next step', async () => {
    const { operator, apiKey } = await desk.aDesk();
    const { id } = await operator.register({ url: (await desk.suite.aReceiver()).url, events: ['ticket.created'] });
    const proxy = desk.suite.closing(await aTcpProxy(desk.suite.app.url));
    await proxy.open();
    const visitor = await desk.aVisitor({}, proxy.url);
    const { page } = visitor;
    const { clock } = visitor.context;
    await clock.install();
    await visitor.signIn(apiKey);
    const underWay = requestsUnderWay(page);
    const loaded = page.waitForResponse(/toast-list[^/]*\.js$/);
    await visitor.open(`/endpoints/${id}`);
    await visitor.button('Send test').waitFor();
    // What shows failures has been loaded to its end, and so has everything else.
    await clock.runFor(2_500);
    await (await loaded).finished();
    await eventually(() => {
      expect(underWay.size).toBe(0);
    });

    proxy.freeze();
    // Longer than the stream is ever silent. The page itself asks for nothing.
    await clock.runFor(22_000);
    await visitor.see(/Not updated since \d/);
    await visitor.choose('Pause');
    await clock.runFor(20_500);
    const toast = page.getByRole('dialog').filter({ hasText: 'No answer' });
    await toast.filter({ hasText: 'It may have done this all the same' }).waitFor();

    await page.getByRole('link', { name: 'Audit log' }).click();
    await clock.runFor(1_000);
    await page.getByRole('status', { name: 'Loading' }).waitFor();
    await clock.runFor(10_500);
    await visitor.see('The server did not answer in time. Try again.');
    await visitor.button('Try again').waitFor();
    // What was loaded before is still there.
    await page.goBack();
    await visitor.button('Send test').waitFor();
    await page.goForward();
    await clock.runFor(10_500);
    await visitor.button('Try again').waitFor();

    await proxy.close();
    await proxy.open();
    // The failed page, too, continues by itself.
    await clock.runFor(4_000);
    await page.getByText(/Not updated since/).waitFor({ state: 'detached' });
    await visitor.heading('Audit log').waitFor();
    expect(visitor.complaints.splice(0).filter((text) => !/ERR_|Failed to load|NoAnswer/.test(text))).toEqual([]);
  });
});
