import { describe, expect, it } from '@jest/globals';
import type { Operator } from '../e2e/delivery/support/operator.js';
import { conversationData } from '../support/conversations.js';
import { aWidgetId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { violations } from './support/accessibility.js';
import { RETRIED_SOON, shareFrontDesk, type FrontDesk } from './support/front-desk.js';
import { holdAnswers } from './support/hold-answers.js';
import { TICKET, tickets } from './support/tickets.js';
import type { Visitor } from './support/visitor.js';

let desk: FrontDesk;

shareFrontDesk((opened) => {
  desk = opened;
}, RETRIED_SOON);

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

  it('asks for nothing while its tab is hidden, and has what came meanwhile once it is shown', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await aFeedOf(operator, 1);
    await page.clock.install();
    await visitor.open('/events');
    await page.getByText('Live', { exact: true }).waitFor();
    await eventually(async () => {
      expect(await listedSeqs(visitor)).toEqual([1]);
    });
    const turn = (visibility: 'hidden' | 'visible') =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${visibility}' });
         document.dispatchEvent(new Event('visibilitychange'));`,
      );
    let reads = 0;
    page.on('request', (request) => {
      if (request.url().includes('/external/events?')) reads++;
    });

    await turn('hidden');
    await operator.emit(TICKET);
    await page.clock.runFor(20_000);
    await page.waitForTimeout(100);
    expect(reads).toBe(0);

    await turn('visible');
    await eventually(async () => {
      expect(await listedSeqs(visitor)).toEqual([2, 1]);
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
    const streamed = page.waitForResponse('**/dashboard/changes');
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
    await streamed;
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
