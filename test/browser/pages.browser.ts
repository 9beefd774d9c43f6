import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page, Request } from 'playwright-core';
import { conversationData } from '../support/conversations.js';
import { eventually, PATIENCE_MS } from '../support/infrastructure/eventually.js';
import { RULES_OF_COLOR, violations } from './support/accessibility.js';
import { RETRIED_SOON, shareFrontDesk, type Desk, type FrontDesk } from './support/front-desk.js';
import { LateAnswers } from './support/late-answers.js';
import { TICKET } from './support/tickets.js';
import type { View, Visitor } from './support/visitor.js';

const MAX_FIRST_PAGE_BYTES = 145 * 1_024;
const MAX_IDLE_REQUESTS = 20;
const MAX_LAYOUT_SHIFT = 0.05;
/** Whether nothing fades in, moves or turns, nor is about to. */
const IS_STILL = `document.querySelector('[data-starting-style]') === null
  && document.getAnimations().every(({ playState }) => playState === 'finished')`;

/** What the api answers if it has too much to count. The page does not ask again by itself. */
const REFUSED = {
  status: 422,
  json: {
    code: 'validation_failed',
    detail: '#/hours: must be less: the window has too much to count in time',
    request_id: 'req_1',
  },
};

/** How far the parts of a page moved, and which, from and to which height in pixels. */
interface Shifts {
  readonly shifted: number;
  readonly movers: readonly string[];
}

let desk: FrontDesk;

shareFrontDesk((opened) => {
  desk = opened;
}, RETRIED_SOON);

describe('the thresholds of alerts', () => {
  it('are saved where they were changed, and keep the changes of others', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/alerts');
    const second = page.getByLabel('Second alert after (seconds)');
    await second.fill('400');
    await operator.api.setAlertThresholds(operator.orgId, { first: 30, second: 300 });
    await visitor.button('Save').click();
    await visitor.see('Thresholds saved');
    expect(await page.getByLabel('First alert after (seconds)').inputValue()).toBe('30');
    expect(await visitor.button('Save').isDisabled()).toBe(true);
    const { text } = await operator.api.request('GET', `/internal/orgs/${operator.orgId}/live-chat-settings`);
    expect(JSON.parse(text)).toMatchObject({ data: { first_alert_seconds: 30, second_alert_seconds: 400 } });
  });
});

describe('the thresholds of alerts that others change', () => {
  it('are shown in every field that nobody has touched', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const [first, second] = [page.getByLabel(/^First alert after/), page.getByLabel(/^Second alert after/)];
    const untilFirstIs = (value: string) =>
      eventually(async () => {
        expect(await first.inputValue()).toBe(value);
      });
    // What the browser reports when it is online again: pages then ask for everything that is shown.
    const askAgain = () => page.evaluate("dispatchEvent(new Event('online'))");
    await visitor.open('/alerts');
    await first.waitFor();
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    await visitor.heading('Events').waitFor();
    await operator.api.setAlertThresholds(operator.orgId, { first: 30, second: 300 });
    await page.goBack();
    await first.waitFor();
    await askAgain();
    await untilFirstIs('30');
    await second.fill('500');
    await operator.api.setAlertThresholds(operator.orgId, { first: 20, second: 400 });
    await askAgain();
    await untilFirstIs('20');
    expect(await second.inputValue()).toBe('500');
  });
});

describe('the alerts', () => {
  it('are listed in pages, and lead to the chat and to the event', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const at = new Date(Date.now() - 90_000).toISOString();
    await operator.emit(
      ...Array.from({ length: 30 }, (_, index) => ({
        event: 'conversation.handed_off',
        occurred_at: at,
        data: conversationData(`cnv_${index}`, { subject: `Parcel ${index}` }),
      })),
    );
    await visitor.open('/alerts');
    const rows = page.getByRole('row').filter({ hasText: 'First alert' });
    await eventually(async () => {
      expect(await rows.count()).toBe(25);
    });
    await visitor.button('Older').click();
    await eventually(async () => {
      expect(await rows.count()).toBe(5);
    });
    await page.goBack();
    await eventually(async () => {
      expect(await rows.count()).toBe(25);
    });
    expect(
      await rows
        .first()
        .getByRole('link', { name: /^Parcel/ })
        .getAttribute('href'),
    ).toMatch(/^https:/);
    await rows.first().getByRole('link', { name: 'First alert' }).click();
    await page.getByRole('heading', { name: 'conversation.queued', level: 2 }).waitFor();
  });

  it('link no chat whose address would run a script', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const chat = (id: string, url: string) => ({
      event: 'conversation.handed_off',
      occurred_at: new Date(Date.now() - 90_000).toISOString(),
      data: conversationData(id, { subject: `Chat ${id}`, url }),
    });
    await operator.emit(chat('cnv_web', 'https://agents.example.com/'), chat('cnv_trap', 'javascript:alert(1)'));
    await visitor.open('/alerts');
    // Each chat is in the list of those that wait and in the history of alerts.
    await eventually(async () => {
      expect(await page.getByRole('link', { name: 'Chat cnv_web' }).count()).toBe(2);
      expect(await page.getByText('Chat cnv_trap').count()).toBe(2);
    });
    expect(await page.getByRole('link', { name: 'Chat cnv_trap' }).count()).toBe(0);
    expect(await page.locator('a[href^="javascript" i]').count()).toBe(0);
  });
});

describe('a text that a visitor chose', () => {
  it('stays in its place in the history of alerts', async () => {
    const { visitor, operator } = await desk.aDesk();
    const data = conversationData('cnv_1', { subject: 'Subject \u202eturned' });
    const occurred_at = new Date(Date.now() - 90_000).toISOString();
    await operator.emit({ event: 'conversation.handed_off', occurred_at, data });
    await visitor.open('/alerts');
    const cell = visitor.page.getByRole('row').filter({ hasText: 'First alert' }).getByRole('cell').nth(1);
    const [subject, name] = await Promise.all([
      cell.getByRole('link').boundingBox(),
      cell.getByText('Jonas Weber').last().boundingBox(),
    ]);
    expect(name!.x).toBeGreaterThanOrEqual(subject!.x + subject!.width);
  });
});

describe('a time', () => {
  it('has its date once it is not of today any more, although nothing else has changed', async () => {
    const { visitor, operator } = await desk.aDesk({ timeZone: 'Europe/Berlin' });
    const { page } = visitor;
    await operator.emit({ ...TICKET, occurred_at: '2026-03-04T21:00:00.000Z' });
    await page.clock.install({ time: '2026-03-04T22:59:50.000Z' });
    await visitor.open('/events');
    const time = page.getByRole('list', { name: 'Events, newest first' }).locator('time');
    await time.waitFor();
    expect(await time.textContent()).not.toContain('Mar');
    await page.clock.runFor(20_000);
    await time.filter({ hasText: 'Mar 4' }).waitFor();
  });
});

describe('addresses', () => {
  it('that lead nowhere show the navigation, and `next` counts for those who are signed in', async () => {
    const { visitor } = await desk.aDesk();
    await visitor.open('/no/such/page');
    await visitor.heading('There is no such page').waitFor();
    await visitor.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Endpoints' }).click();
    await visitor.heading('Endpoints').waitFor();
    await visitor.open('/sign-in?next=%2Fkeys');
    await visitor.heading('API keys').waitFor();
    await visitor.open('/sign-in?next=%2F%2Fexample.com');
    await visitor.heading('Overview').waitFor();
  });
});

describe('the charts', () => {
  it('show a window that suits the data, until one is chosen', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await operator.emit(TICKET);
    await visitor.open('/');
    const isChosen = (name: string) => page.getByRole('radio', { name, exact: true }).isChecked();
    await eventually(async () => {
      expect(await isChosen('15 min')).toBe(true);
    });
    await page.getByRole('radio', { name: '24 h' }).check();
    await page.waitForURL(/minutes=1440/);
    await page.reload();
    await visitor.see('Events per minute');
    expect(await isChosen('24 h')).toBe(true);
  });

  it('mark a burst of events, which few deliveries follow', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    await page.route('**/dashboard/overview*', async (route) => {
      const response = await route.fetch();
      const { data } = (await response.json()) as { data: { minutes: object[] } };
      const minutes = data.minutes.map((minute, index) => ({
        ...minute,
        events: index === 3 ? 9_000 : 5,
        delivered: 5,
      }));
      await route.fulfill({ response, json: { data: { ...data, minutes } } });
    });
    await visitor.open('/?minutes=15');
    await eventually(async () => {
      expect(await page.locator('.chart-cut').allTextContents()).toEqual(['↑ 9K']);
    });
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });
});

describe('beside the navigation on a small screen', () => {
  it('the rows of deliveries show the event and the time', async () => {
    const { visitor, operator } = await desk.aDesk({ width: 1_024 });
    const { url } = await desk.aFailingReceiver();
    const { id } = await operator.register({ url, events: ['ticket.created'], name: 'CRM' });
    await operator.emit(TICKET);
    await visitor.open(`/endpoints/${id}`);
    const row = visitor.page.getByRole('row').filter({ hasText: 'ticket.created' });
    const time = row.getByRole('cell').last().locator('time').filter({ visible: true });
    for (const part of [row.getByRole('link', { name: 'ticket.created' }), time]) {
      const { x, width } = (await part.boundingBox())!;
      expect(width).toBeGreaterThan(40);
      expect(x + width).toBeLessThan(1_024 - 32);
    }
  });
});

describe('on a phone', () => {
  it('the rows of deliveries show the result', async () => {
    const { visitor, operator } = await desk.aDesk({ width: 390 });
    const { id } = await operator.register({
      url: (await desk.aFailingReceiver()).url,
      events: ['ticket.created'],
      name: 'CRM',
    });
    await operator.emit(TICKET);
    await visitor.open(`/endpoints/${id}`);
    const row = visitor.page.getByRole('row').filter({ hasText: 'ticket.created' });
    await row.getByText(/#1 · HTTP 503/).waitFor();
    await visitor.button('Menu').click();
    await visitor.page.getByRole('dialog').getByLabel('Find by id, seq or name').fill('#1');
    await visitor.page.keyboard.press('Enter');
    await visitor.page.getByRole('heading', { name: 'ticket.created', level: 2 }).waitFor();
  });

  it('no result hides the endpoint, and the audit log says who did it', async () => {
    const { visitor, operator } = await desk.aDesk({ width: 390 });
    const { page } = visitor;
    const { url } = await desk.aFailingReceiver();
    const name = 'The customer relations of the north';
    const { id } = await operator.register({ url, events: ['ticket.created'], name });
    await operator.emit(TICKET);
    await eventually(async () => {
      expect(await operator.deliveries(id)).toMatchObject([{ attempts: 2 }]);
    });
    await operator.change(id, { is_active: false });
    await visitor.open('/events?seq=1');
    await visitor.see(/^Endpoint disabled, after HTTP 503/);
    const shown = await page.getByRole('link', { name }).boundingBox();
    expect(shown?.width).toBeGreaterThan(150);
    await visitor.open('/audit-log');
    await page.getByText(/^gk_/).filter({ visible: true }).first().waitFor();
  });
});

describe('the list of endpoints', () => {
  it('says that their activity could not be read, and draws none', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    await operator.register({ url, events: ['ticket.created'], name: 'CRM' });
    await page.route('**/dashboard/activity*', (route) => route.fulfill(REFUSED));
    await visitor.open('/endpoints');
    const failure = page.getByRole('alert').filter({ hasText: 'the window has too much to count in time' });
    await failure.waitFor();
    await page.getByRole('link', { name: 'CRM' }).waitFor();
    const chart = page.getByRole('img', { name: / failed attempts in 24 hours$/ });
    expect(await chart.count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.unroute('**/dashboard/activity*');
    await visitor.button('Try again').click();
    await chart.waitFor();
    await failure.waitFor({ state: 'detached' });
    visitor.complaints.splice(0);
  });
});

describe('what could not be read', () => {
  it('is not taken for an endpoint without recoveries', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    const { id } = await operator.register({ url, events: ['ticket.created'], name: 'CRM' });
    await page.route('**/recoveries', (route) => route.fulfill(REFUSED));
    await visitor.open(`/endpoints/${id}`);
    const recoveries = page.getByRole('region', { name: 'Recoveries' });
    await recoveries.getByRole('alert').waitFor();
    await page.unroute('**/recoveries');
    await recoveries.getByRole('button', { name: 'Try again' }).click();
    await recoveries.waitFor({ state: 'detached' });
    await visitor.heading('CRM').waitFor();
    visitor.complaints.splice(0);
  });

  it('is not taken for an event that every endpoint got', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    await operator.register({ url, events: ['lead.created'], name: 'Leads' });
    await operator.emit(TICKET);
    await page.route('**/external/events/*/deliveries', (route) => route.fulfill(REFUSED));
    await visitor.open('/events?seq=1');
    const answers = page.getByRole('region', { name: 'Delivered to' });
    await answers.getByRole('alert').waitFor();
    await page.unroute('**/external/events/*/deliveries');
    await answers.getByRole('button', { name: 'Try again' }).click();
    await answers.getByText('Not sent to 1 endpoint').waitFor();
    visitor.complaints.splice(0);
  });

  it('is not taken for an endpoint that is active', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.aFailingReceiver();
    const { id } = await operator.register({ url, events: ['ticket.created'], name: 'CRM' });
    await operator.emit(TICKET);
    const [delivery] = await eventually(async () => {
      const deliveries = await operator.deliveries(id);
      expect(deliveries).toMatchObject([{ attempts: 2 }]);
      return deliveries;
    });
    await operator.change(id, { is_active: false });
    await page.route(`**/external/webhooks/${id}`, (route) => route.fulfill(REFUSED));
    await visitor.open(`/endpoints/${id}/deliveries/${delivery!.id}`);
    await visitor.see('Replay or recover it once the endpoint is enabled.');
    expect(await page.getByText('enabled again').count()).toBe(0);
    visitor.complaints.splice(0);
  });
});

describe('the overview', () => {
  it('shows what it has and says what failed, in place of waiting for it', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { id } = await operator.register({
      url: (await desk.suite.aReceiver()).url,
      events: ['ticket.created'],
      name: 'CRM',
    });
    let asked = 0;
    await page.route('**/dashboard/activity*', (route) => {
      asked++;
      return route.fulfill(REFUSED);
    });
    const streamed = page.waitForResponse('**/dashboard/changes');
    await visitor.open('/');
    const failure = page.getByRole('alert').filter({ hasText: 'the window has too much to count in time' });
    await failure.waitFor();
    await visitor.see('Events per minute');
    const card = page.getByRole('region', { name: 'Endpoints' });
    await card.getByRole('link', { name: 'CRM' }).waitFor();
    expect(await page.locator('.skeleton').count()).toBe(0);
    expect(await card.getByRole('img').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await streamed;
    // Changes lead to other requests. This one may be repeated once, because the stream was not open at first.
    const before = asked;
    for (const name of ['CRM sync', 'Customers']) {
      await operator.change(id, { name });
      await card.getByRole('link', { name }).waitFor();
    }
    expect(asked - before).toBeLessThan(2);
    expect(await page.getByText(/Not updated since/).count()).toBe(0);
    await page.unroute('**/dashboard/activity*');
    await visitor.button('Try again').click();
    await failure.waitFor({ state: 'detached' });
    visitor.complaints.splice(0);
  });

  it('can show a shorter window if there is too much in one', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    const detail = '#/minutes: must be less: the window has too much to count in time';
    await page.route('**/dashboard/overview?minutes=1440', (route) =>
      route.fulfill({ status: 422, json: { code: 'validation_failed', detail, request_id: 'req_1' } }),
    );
    await visitor.open('/?minutes=1440');
    await visitor.see('Minutes must be less: the window has too much to count in time');
    await page.getByRole('radio', { name: '1 h', exact: true }).check();
    await visitor.see('Events per minute');
    visitor.complaints.splice(0);
  });
});

describe('a busy overview', () => {
  it('shows answers that take longer than the time between two changes', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await operator.emit(TICKET);
    await visitor.open('/');
    const head = page.locator('.tile', { hasText: 'Head of the log' });
    await head.getByText(/^#\d/).waitFor();
    await page.route('**/dashboard/overview*', async (route) => {
      await page.waitForTimeout(4_000);
      await route.continue();
    });
    const before = await head.textContent();
    const untilMs = Date.now() + PATIENCE_MS;
    while ((await head.textContent()) === before && Date.now() < untilMs) {
      await operator.emit(TICKET);
      await page.waitForTimeout(1_000);
    }
    expect(await head.textContent()).not.toBe(before);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });
});

describe('a page whose data is there', () => {
  it.each([
    ['/', '**/dashboard/overview*'],
    ['/endpoints', '**/external/webhooks'],
    ['/audit-log', '**/external/audit-log*'],
    ['/alerts', '**/waiting-conversations'],
  ])('%s says since when a part of it is not updated, until it is', async (path, part) => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open(path);
    await page.locator('h1').first().waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await page.route(part, (route) => route.fulfill({ status: 429, json: {} }));
    // What the browser reports when it is online again: pages then ask for everything that is shown.
    const askAgain = () => page.evaluate("dispatchEvent(new Event('online'))");
    const note = page.getByText(/^A part of this page is not updated since \d/);
    await askAgain();
    await note.waitFor();
    await visitor.see('The server answered 429.');
    expect(await violations(page)).toEqual([]);
    await page.unroute(part);
    await askAgain();
    await note.waitFor({ state: 'detached' });
    expect(visitor.complaints.splice(0).filter((text) => !text.includes('429'))).toEqual([]);
  });
});

describe('every page', () => {
  let everything: Desk;
  let paths: readonly string[];

  beforeAll(async () => {
    everything = await desk.aDesk();
    const { operator } = everything;
    const good = await operator.register({
      url: (await desk.suite.aReceiver()).url,
      events: ['ticket.created'],
      name: 'CRM',
    });
    const bad = await operator.register({
      url: (await desk.aFailingReceiver()).url,
      events: ['ticket.created'],
    });
    await operator.emit(TICKET, TICKET, {
      event: 'conversation.handed_off',
      occurred_at: new Date(Date.now() - 90_000).toISOString(),
      data: conversationData('cnv_1', { subject: "Ada's parcel" }),
    });
    await eventually(async () => {
      expect((await operator.endpoint(bad.id)).health.status).toBe('failing');
    });
    await operator.change(good.id, { is_active: false });
    const [delivery] = await operator.deliveries(bad.id);
    paths = [
      ...['/', '/endpoints', '/endpoints/new', `/endpoints/${good.id}`, `/endpoints/${good.id}/edit`],
      ...[`/endpoints/${bad.id}`, `/endpoints/${bad.id}/deliveries/${delivery!.id}`, '/find?q=nothing'],
      ...[
        '/events',
        '/events?seq=1',
        '/cursors',
        '/agents',
        '/catalog',
        '/alerts',
        '/keys',
        '/audit-log',
        '/samples',
        '/no-such-page',
      ],
    ];
  });

  /** Opens the page, and waits until all of it is there. */
  async function show(visitor: Visitor, path: string): Promise<void> {
    await visitor.open(path);
    await visitor.page.locator('h1').first().waitFor();
    await visitor.page.locator('.skeleton').first().waitFor({ state: 'detached' });
  }

  async function untilStill(page: Page): Promise<void> {
    await eventually(async () => {
      expect(await page.evaluate<boolean>(IS_STILL)).toBe(true);
    });
  }

  /** What axe finds in the other theme. It differs in colors alone, which needs no new page. */
  async function violationsInTheDark(page: Page): Promise<readonly string[]> {
    // Without motion, the old colors do not fade and what pulses without end stops.
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await untilStill(page);
    const found = await violations(page, RULES_OF_COLOR);
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' });
    return found.map((violation) => `dark: ${violation}`);
  }

  /** Opens each dialog of the endpoint's page and of the keys' page, and returns what `look` finds in them. */
  async function findingsInDialogs(
    visitor: Visitor,
    look: (page: Page) => Promise<readonly string[]>,
  ): Promise<readonly string[]> {
    const { page } = visitor;
    const found: string[] = [];
    const lookAt = async (name: string) => {
      await page.getByRole('dialog').waitFor();
      // Its backdrop is half transparent while it fades in.
      await untilStill(page);
      found.push(...(await look(page)).map((violation) => `${name}: ${violation}`));
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    const endpoint = paths.find((path) => path.endsWith('/edit'))!.replace('/edit', '');
    await show(visitor, endpoint);
    for (const action of ['Recover deliveries …', 'Rotate secret …', 'Delete …']) {
      await visitor.choose(action);
      await lookAt(action);
    }
    await show(visitor, '/keys');
    await visitor.button('New API key').click();
    await lookAt('New API key');
    await visitor
      .button(/^Revoke gk_/)
      .first()
      .click();
    await lookAt('Revoke');
    if ((page.viewportSize()?.width ?? 0) < 800) {
      await visitor.button('Menu').click();
      await lookAt('Menu');
    }
    return found;
  }

  /** Counts how far the parts of each page move after they were drawn. */
  async function watchShifts({ page }: Visitor): Promise<void> {
    await page.addInitScript(
      `addEventListener('load', () => { window.shifted = 0; window.movers = []; new PerformanceObserver((list) => {
         for (const { value, hadRecentInput, sources } of list.getEntries()) {
           if (hadRecentInput) continue;
           window.shifted += value;
           for (const { node, previousRect, currentRect } of sources)
             window.movers.push((node?.className || node?.nodeName) + ' ' + previousRect.y + ' -> ' + currentRect.y);
         }
       }).observe({ type: 'layout-shift', buffered: true }); });`,
    );
  }

  async function shiftsIn({ page }: Visitor, path: string): Promise<readonly string[]> {
    const { shifted, movers } = await page.evaluate<Shifts>('({ shifted, movers })');
    return shifted > MAX_LAYOUT_SHIFT ? [`${path}: moved by ${shifted}: ${movers.join(', ')}`] : [];
  }

  const inBothThemes = async (page: Page) => [...(await violations(page)), ...(await violationsInTheDark(page))];

  it.each<{ readonly view: View; readonly look: (page: Page) => Promise<readonly string[]> }>([
    { view: { width: 1_280, motion: true }, look: inBothThemes },
    { view: { width: 390 }, look: violations },
  ])('keeps nobody out, fits, and stays in its place: $view.width wide', async ({ view, look }) => {
    const visitor = await desk.aVisitor(view);
    await visitor.bringSession(everything.apiKey);
    await watchShifts(visitor);
    const found: string[] = [];
    for (const path of paths) {
      await show(visitor, path);
      found.push(...(await look(visitor.page)).map((violation) => `${path}: ${violation}`));
      const overflow = await visitor.page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      if (overflow > 0) found.push(`${path}: is ${overflow} px too wide`);
      found.push(...(await shiftsIn(visitor, path)));
    }
    found.push(...(await findingsInDialogs(visitor, look)));
    expect(found).toEqual([]);
  });

  it('stays in its place when its parts come one after the other', async () => {
    const visitor = await desk.aVisitor({ width: 390, motion: true });
    await visitor.bringSession(everything.apiKey);
    await watchShifts(visitor);
    const answers = await LateAnswers.of(visitor.page);
    const found: string[] = [];
    for (const path of paths) {
      await show(visitor, path);
      await eventually(() => {
        expect(answers.isEmpty).toBe(true);
      });
      // What has just come is drawn in the next frame.
      await visitor.page.waitForTimeout(100);
      found.push(...(await shiftsIn(visitor, path)));
    }
    expect(found).toEqual([]);
  });

  it('asks rarely while nothing happens, and once there is something', async () => {
    const visitor = await desk.aVisitor();
    const { page } = visitor;
    await page.clock.install();
    // The page's time runs faster than the server's, so the page makes the beats of the stream itself.
    await page.addInitScript(`globalThis.EventSource = class extends EventSource {
      constructor(path) {
        super(path);
        setInterval(() => this.dispatchEvent(new MessageEvent('beat')), 15_000);
      }
    };`);
    await visitor.bringSession(everything.apiKey);
    const counts: Record<string, number> = {};
    for (const path of ['/', paths[5]!, paths[6]!, '/events?seq=1', '/alerts']) {
      await show(visitor, path);
      let asked = 0;
      const count = (request: Request) => {
        if (request.url().includes('/api/')) asked++;
      };
      page.on('request', count);
      for (let step = 0; step < 12; step++) {
        await page.clock.runFor(5_000);
        // The requests of this step are answered in real time.
        await page.waitForTimeout(60);
      }
      page.off('request', count);
      counts[path] = asked;
    }
    expect(Object.entries(counts).filter(([, asked]) => asked > MAX_IDLE_REQUESTS)).toEqual([]);
    await show(visitor, '/');
    const asked = page.waitForRequest(/dashboard\/overview/);
    await everything.operator.emit(TICKET);
    await page.clock.runFor(5_000);
    await asked;
  });

  it('begins with at most 145 KB without its data, in the font that comes with it', async () => {
    const visitor = await desk.aVisitor();
    await visitor.bringSession(everything.apiKey);
    const sizes: Promise<readonly [path: string, bytes: number]>[] = [];
    const asked = new Set<string>();
    visitor.page.on('requestfinished', (request) => {
      // A later request for the same address is not part of the first page.
      const path = request.url();
      // How much data there is depends on the organization.
      if (asked.has(path) || path.includes('/api/')) return;
      asked.add(path);
      sizes.push(request.sizes().then(({ responseBodySize }) => [path, responseBodySize]));
    });
    // On a slow machine, files that the page loads two seconds later would count as well.
    await visitor.page.addInitScript(
      'const later = setTimeout; setTimeout = (act, ms, ...rest) => later(act, ms === 2_000 ? 600_000 : ms, ...rest);',
    );
    await show(visitor, '/');
    await visitor.page.evaluate('document.fonts.ready.then(() => undefined)');
    const files = await Promise.all(sizes);
    const bytes = files.reduce((sum, [, size]) => sum + size, 0);
    expect(bytes).toBeGreaterThan(50_000);
    // If it is too much, the message has the files.
    expect(bytes < MAX_FIRST_PAGE_BYTES ? [] : files).toEqual([]);
    const fonts = await visitor.page.evaluate<string[]>(
      "[...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family)",
    );
    expect(fonts.join()).toContain('Inter Variable');
  });

  it('says in which zone its times are', async () => {
    const visitor = await desk.aVisitor();
    await visitor.bringSession(everything.apiKey);
    await show(visitor, '/events?seq=1');
    const title = await visitor.page.locator('time').first().getAttribute('title');
    expect(title).toMatch(/(UTC|GMT|[A-Z]{3,4}).* · \d{4}-\d\d-\d\dT/);
  });
});
