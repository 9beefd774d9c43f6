import { beforeAll, describe, expect, it } from '@jest/globals';
import { McpSubscriptions } from '#libs/postgres';
import { seqsAt } from '../e2e/delivery/support/pushes.js';
import { conversationData } from '../support/conversations.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { anMcpSubscription } from '../support/mcp-subscriptions.js';
import type { Receiver } from '../support/receiver.js';
import { violations } from './support/accessibility.js';
import { shareFrontDesk, type Desk, type FrontDesk } from './support/front-desk.js';

/** Three attempts, soon after each other; an endpoint is given up after two deliveries that failed wholly. */
const ENVIRONMENT = { RETRY_SCHEDULE: '200ms,200ms', AUTO_DISABLE_AFTER: '6', SWEEP_INTERVAL: '200ms' };
const TICKET = { event: 'ticket.created', data: { id: 'tkt_1', subject: 'Where is my parcel?', price: 1.0 } };

let desk: FrontDesk;

shareFrontDesk((opened) => {
  desk = opened;
}, ENVIRONMENT);

function fix(receiver: Receiver): void {
  receiver.answer = (_request, response) => response.end('ok');
}

describe('the sign-in', () => {
  it('is asked for on every page, leads on to it, and ends with the sign-out', async () => {
    const { operator, apiKey } = await desk.aDesk();
    const visitor = await desk.aVisitor();
    await visitor.signIn(apiKey);
    const { id } = await operator.register({
      url: (await desk.suite.aReceiver()).url,
      events: ['ticket.created'],
      name: 'CRM',
    });

    const newcomer = await desk.aVisitor();
    await newcomer.open(`/endpoints/${id}`);
    await newcomer.heading('Sign in').waitFor();
    await newcomer.page.getByLabel('API key').fill(apiKey);
    await newcomer.button('Sign in').click();
    await newcomer.heading('CRM').waitFor();

    await visitor.button('Sign out').click();
    await visitor.heading('Sign in').waitFor();
    await visitor.open('/endpoints');
    await visitor.heading('Sign in').waitFor();
    // The cookie is gone in the server too, not only in the page.
    expect(await visitor.context.cookies()).toEqual([]);
  });

  it('says that a key is not known, and lets nobody in', async () => {
    const visitor = await desk.aVisitor();
    await visitor.open('/sign-in');
    await visitor.page.getByLabel('API key').fill(`gk_${'0'.repeat(26)}_nothing`);
    await visitor.button('Sign in').click();
    await visitor.see('This key is not known');
    await visitor.heading('Sign in').waitFor();
    // That the answer was 401 is what the browser complains of.
    expect(visitor.complaints.splice(0)).toEqual([expect.stringContaining('401')]);
  });
});

describe('an endpoint', () => {
  it('is created, shows its secret this once, and is seen to receive a test', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const receiver = await desk.suite.aReceiver();
    await visitor.open('/endpoints');
    await page.getByRole('link', { name: 'New endpoint' }).first().click();
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByLabel('Name (optional)').fill('CRM sync');
    await page.getByLabel('Search event types').fill('ticket reply');
    await page.getByRole('checkbox', { name: /^ticket\.reply / }).check();
    await page.getByLabel('Search event types').fill('visitors');
    await page.getByRole('checkbox', { name: 'Visitors and leads' }).check();
    await page.getByRole('radio', { name: /^Org-wide events only/ }).check();
    await visitor.button('Create endpoint').click();

    const secret = await page.getByTestId('secret').textContent();
    expect(secret).toMatch(/^whsec_/);
    await page.keyboard.press('Escape');
    expect(await page.getByTestId('secret').isVisible()).toBe(true);
    await page.getByLabel('I have stored the secret').check();
    await visitor.button('Done').click();
    await visitor.heading('CRM sync').waitFor();
    expect(await page.content()).not.toContain(secret);
    const [endpoint] = await operator.endpoints();
    expect(endpoint).toMatchObject({ name: 'CRM sync', widget_ids: [], url: receiver.url });
    expect(endpoint!.events.toSorted()).toEqual(['lead.created', 'ticket.reply', 'visitor.identified']);

    await visitor.button('Send test').click();
    await visitor.see('Test delivered');
    expect(receiver.received.map(({ headers }) => headers['x-service-event'])).toEqual(['test']);
  });

  it('is refused with the reason beside the field that is at fault', async () => {
    const { visitor, operator } = await desk.aDesk();
    await visitor.open('/endpoints/new');
    await visitor.page.getByLabel('URL').fill('https://localhost.internal/hook');
    await visitor.button('Choose all').click();
    await visitor.button('Create endpoint').click();
    await visitor.page.locator('input[aria-invalid="true"]').waitFor();
    expect(await operator.endpoints()).toEqual([]);
    expect(visitor.complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  });

  it('is edited, paused, given a new secret, and deleted by typing its name', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { id, secret } = await operator.register({
      url: (await desk.suite.aReceiver()).url,
      events: ['ticket.created'],
      name: 'CRM',
    });
    await visitor.open(`/endpoints/${id}`);
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Name (optional)').fill('CRM sync');
    await visitor.button('Save').click();
    await visitor.heading('CRM sync').waitFor();

    await visitor.choose('Rotate secret …');
    await visitor.button('Rotate secret').click();
    expect(await page.getByTestId('secret').textContent()).not.toBe(secret);
    await page.getByLabel('I have stored the secret').check();
    await visitor.button('Done').click();

    await visitor.choose('Rotate secret …');
    await page.getByRole('radio', { name: 'Signs for 1 more hour' }).check();
    await visitor.see('Both secrets sign until then');
    await visitor.button('Rotate secret').click();
    await visitor.see('Every push is now signed with both secrets.');
    await page.getByLabel('I have stored the secret').check();
    await visitor.button('Done').click();
    await visitor.choose('Stop the previous secret');
    await visitor.see('Only the current secret signs now');

    await visitor.choose('Pause');
    await visitor.see('Paused: receives no pushes');
    expect((await operator.endpoint(id)).is_active).toBe(false);

    await visitor.choose('Delete …');
    await page.getByLabel('to confirm').fill('CRM');
    expect(await visitor.button('Delete endpoint').isDisabled()).toBe(true);
    await page.getByLabel('to confirm').fill('CRM sync');
    await visitor.button('Delete endpoint').click();
    await visitor.heading('Endpoints').waitFor();
    expect(await operator.endpoints()).toEqual([]);
  });
});

describe('the page of an endpoint', () => {
  it('keeps its dialogs and its test to itself: Back to another endpoint shows neither', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    const register = (name: string) => operator.register({ url, events: ['ticket.created'], name });
    const [one, other] = [await register('CRM'), await register('Pager')];
    await visitor.open(`/endpoints/${one.id}`);
    await visitor.heading('CRM').waitFor();
    await visitor.find(other.id);
    await visitor.heading('Pager').waitFor();
    await visitor.button('Send test').click();
    await visitor.see('Test delivered');
    await visitor.choose('Rotate secret …');
    await visitor.button('Rotate secret').waitFor();
    await page.goBack();
    await visitor.heading('CRM').waitFor();
    expect(await visitor.button('Rotate secret').count()).toBe(0);
    expect(await page.getByText('Test delivered').count()).toBe(0);
  });
});

describe('a delivery that failed', () => {
  it('shows its attempts and whether its signature verifies, and is replayed', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const receiver = await desk.aFailingReceiver();
    const { id, secret } = await operator.register({ url: receiver.url, events: ['ticket.created'], name: 'CRM' });
    await operator.emit(TICKET);
    await visitor.open('/endpoints');
    await page.getByRole('link', { name: 'CRM' }).click();
    await page.getByRole('cell', { name: 'Failed', exact: true }).waitFor();
    await page.getByRole('link', { name: 'ticket.created' }).click();
    await page.getByText('Attempt 3').waitFor();
    expect(await page.getByText('HTTP 503').count()).toBe(3);
    expect(await page.getByText('no room').count()).toBe(3);

    await page.getByRole('tab', { name: 'Signature checker' }).click();
    await page.getByLabel('Secret').fill(secret);
    await page.getByText('Verifies', { exact: true }).waitFor();
    await page.getByLabel('Raw body').fill('{}');
    await page.getByText('Does not verify').waitFor();

    fix(receiver);
    await visitor.button('Replay').click();
    await page.locator('header').getByText('Delivered', { exact: true }).waitFor();
    expect((await operator.deliveries(id)).map(({ status }) => status)).toEqual(['delivered']);
    const bodies = new Set(receiver.received.map(({ body }) => body.toString()));
    expect(bodies.size).toBe(1);
  });
});

describe('an endpoint that was disabled automatically', () => {
  it('is enabled and recovered at once, with the count first', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const receiver = await desk.aFailingReceiver();
    const { id } = await operator.register({ url: receiver.url, events: ['ticket.created'], name: 'CRM' });
    const witness = await operator.register({ url: (await desk.suite.aReceiver()).url, events: ['ticket.created'] });
    await operator.emit(TICKET, TICKET);
    await visitor.open(`/endpoints/${id}`);
    await visitor.see('Disabled automatically');
    await operator.emit(TICKET, TICKET, TICKET);
    fix(receiver);
    // What an endpoint that works has got is routed for all.
    await eventually(async () => {
      expect(await operator.deliveries(witness.id)).toHaveLength(5);
    });
    const before = receiver.received.length;

    await visitor.button('Enable and recover …').click();
    await visitor.button('Enable and recover 5').waitFor();
    expect(await page.getByTestId('count-failed').textContent()).toBe('2');
    expect(await page.getByTestId('count-missed').textContent()).toBe('3');
    expect((await operator.endpoint(id)).is_active).toBe(false);
    await visitor.button('Enable and recover 5').click();
    await visitor.see('5 of 5 scheduled, none waiting.');
    await visitor.button('Done').click();
    await page.locator('header').getByText('Healthy').waitFor();
    await eventually(() => {
      expect(seqsAt(receiver).slice(before).toSorted()).toEqual([1, 2, 3, 4, 5, 6]);
    });
    // The first push is the test, which is the sixth event.
    expect(seqsAt(receiver).slice(before)[0]).toBe(6);
  });

  it('gets what failed before its last success, too', async () => {
    const { visitor, operator } = await desk.aDesk();
    const receiver = await desk.aFailingReceiver();
    const { id } = await operator.register({ url: receiver.url, events: ['ticket.created'], name: 'CRM' });
    const statuses = async () => (await operator.deliveries(id)).map(({ status }) => status);
    await operator.emit(TICKET);
    await eventually(async () => {
      expect(await statuses()).toEqual(['failed']);
    });
    fix(receiver);
    await operator.emit(TICKET);
    await eventually(async () => {
      expect(await statuses()).toEqual(['failed', 'delivered']);
    });
    receiver.answer = (_request, response) => response.writeHead(503).end();
    await operator.emit(TICKET, TICKET);
    await visitor.open(`/endpoints/${id}`);
    await visitor.see('Disabled automatically');
    fix(receiver);
    await visitor.button('Enable and recover …').click();
    await visitor.button('Enable and recover 3').click();
    await visitor.see('3 of 3 scheduled, none waiting.');
    await eventually(async () => {
      expect(new Set(await statuses())).toEqual(new Set(['delivered']));
    });
  });

  it('is on the overview, with the reason and the time', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { id } = await operator.register({
      url: (await desk.aFailingReceiver()).url,
      events: ['ticket.created'],
      name: 'CRM',
    });
    await operator.emit(TICKET, TICKET);
    await eventually(async () => {
      expect((await operator.endpoint(id)).is_active).toBe(false);
    });
    await visitor.open('/');
    const line = page.getByRole('listitem').filter({ hasText: 'too many failed attempts in a row' });
    await line.getByRole('link', { name: 'CRM' }).waitFor();
    const { disabled_at: at } = (await operator.endpoint(id)).health;
    expect(await line.getByRole('time').getAttribute('datetime')).toBe(at);
  });
});

describe('the events', () => {
  it('stream in live, and show the very bytes that are stored', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const receiver = await desk.suite.aReceiver();
    await operator.register({ url: receiver.url, events: ['ticket.created'], name: 'CRM' });
    await operator.register({ url: receiver.url, events: ['lead.created'], name: 'Leads' });
    await operator.emit(TICKET);
    await visitor.open('/events');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('link', { name: /^ticket\.created #1 / }).waitFor();

    await operator.emit(TICKET, { ...TICKET, event: 'ticket.reply' });
    await page.getByRole('link', { name: /^ticket\.reply #3 / }).waitFor();
    const lines = await page.getByRole('list', { name: 'Events, newest first' }).getByRole('link').allTextContents();
    expect(lines.map((line) => /#\d/.exec(line)?.[0])).toEqual(['#3', '#2', '#1']);

    await page.getByRole('link', { name: /#2 / }).click();
    await visitor.see('Not sent to 1 endpoint');
    await visitor.see('Was not subscribed to the type');
    const { text } = await operator.api.request('GET', '/external/events?since=1&limit=1');
    await page.getByRole('tab', { name: 'As stored' }).click();
    const raw = await page.getByRole('region', { name: /^As stored/ }).textContent();
    expect(text).toContain(raw);
    expect(raw).toContain('"seq":2');
    await page.getByRole('link', { name: 'CRM' }).waitFor();

    await page.getByLabel('Event type').selectOption('ticket.reply');
    await page.getByRole('link', { name: /#2 / }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: /#3 / }).waitFor();
  });

  it('are jumped to by their seq, and read back to the first', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await operator.emit(...Array.from({ length: 120 }, () => TICKET));
    await visitor.open('/events');
    await page.getByRole('link', { name: /#120 / }).waitFor();
    await visitor.find('#60');
    await visitor.see('Up to #60');
    await page.getByRole('region', { name: 'For reading' }).waitFor();
    await visitor.button('Older').click();
    await page.getByRole('link', { name: /#1 / }).waitFor();
    expect(await page.getByRole('list', { name: 'Events, newest first' }).getByRole('link').count()).toBe(60);
  });
});

describe('API keys', () => {
  it('are created with the scopes that were chosen, shown this once, and revoked', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/keys');
    await visitor.button('New API key').click();
    await page.getByRole('checkbox', { name: /^events:write/ }).check();
    await visitor.button('Create key').click();
    const key = (await page.getByTestId('secret').textContent()) ?? '';
    const ask = () => fetch(`${desk.suite.app.url}/api/v1/external/webhooks`, { headers: { 'x-api-key': key } });
    // It is known, and may not do this.
    expect((await ask()).status).toBe(403);
    await page.getByLabel('I have stored the API key').check();
    await visitor.button('Done').click();
    const id = key.slice(0, 'gk_'.length + 26);
    await visitor.button(`Revoke ${id}`).click();
    await visitor.button('Revoke key').click();
    await visitor.see('Revoked');
    expect((await ask()).status).toBe(401);

    await visitor.open('/audit-log');
    const row = (text: string) => page.getByRole('row').filter({ hasText: text }).filter({ hasText: id });
    for (const text of ['API key revoked', 'API key created']) {
      await row(text).waitFor();
      expect(await row(text).textContent()).toContain('by the dashboard');
    }
  });
});

describe('a key that expires', () => {
  it('creates no key that is valid for longer, and the page says until when it is', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const at = new Date(Date.now() + 20 * 24 * 3_600_000).toISOString();
    const body = JSON.stringify({ scopes: ['events:read', 'keys:write'], expires_at: at });
    const { text } = await operator.api.request('POST', '/external/api-keys', body);
    const { data: own } = JSON.parse(text) as { data: { key: string } };
    await visitor.bringSession(own.key);
    await visitor.open('/keys');
    await visitor.button('New API key').click();
    await page.getByLabel('Expires').selectOption('Never, or with your key');
    await visitor.button('Create key').click();
    const day = await page.evaluate<string>(
      `new Date('${at}').toLocaleDateString(undefined, { day: 'numeric', month: 'short', year: 'numeric' })`,
    );
    await page.getByRole('dialog').getByText(`It expires on ${day}.`).waitFor();
  });
});

describe('the page of feed readers', () => {
  it('shows who reads the feed, and how far behind', async () => {
    const { visitor, operator, apiKey } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/cursors');
    await visitor.see('No reader stores its position here');
    await operator.emit(TICKET, TICKET, TICKET);
    for (const [name, seq] of [
      ['billing', 1],
      ['warehouse', 3],
    ]) {
      const stored = await fetch(`${desk.suite.app.url}/api/v1/external/cursors/${name}`, {
        method: 'PUT',
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ seq }),
      });
      expect(stored.status).toBe(200);
    }
    await eventually(async () => {
      await visitor.open('/cursors');
      const row = page.getByRole('row').filter({ hasText: 'billing' });
      await row.waitFor();
      expect(await row.textContent()).toContain('2 events behind');
    });
    expect(await page.getByRole('row').filter({ hasText: 'warehouse' }).textContent()).toContain('Caught up');
    expect(await violations(page)).toEqual([]);
  });
});

describe('the page of agents', () => {
  it('shows who has subscribed, and ends a subscription', async () => {
    const { visitor, operator, apiKey } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/agents');
    await visitor.see('No agent has subscribed');
    const keyId = apiKey.split('_').slice(0, 2).join('_');
    const agent = { orgId: operator.orgId, keyId, url: (await desk.suite.aReceiver()).url };
    await anMcpSubscription(desk.suite.app.app.get(McpSubscriptions), agent, { filter: 'event.data.n != 0' });
    await operator.emit(TICKET);
    const row = page.getByRole('row').filter({ hasText: 'ticket.created' });
    await eventually(async () => {
      await visitor.open('/agents');
      await row.waitFor();
      expect(await row.textContent()).toMatch(/filter event\.data\.n != 0.*Active.*#1.*Caught up/);
    });
    expect(await violations(page)).toEqual([]);
    await row.getByRole('button', { name: 'End' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End subscription' }).click();
    await visitor.see('Subscription ended');
    // It is gone once its agent has the message.
    await page.getByText('Active', { exact: true }).waitFor({ state: 'detached' });
  });
});

describe('the alerts page', () => {
  it('shows who waits and what was raised, and changes when alerts are raised', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const chat = (name: string, event: string, secondsAgo: number) => ({
      event,
      occurred_at: new Date(Date.now() - secondsAgo * 1_000).toISOString(),
      data: conversationData(`cnv_${name}`, { subject: `${name}'s parcel` }),
    });
    await visitor.open('/alerts');
    await visitor.see('No chat is waiting');
    await visitor.see('No alerts yet');
    await operator.emit(chat('Ada', 'conversation.handed_off', 90), chat('Bob', 'conversation.handed_off', 5));

    const [waiting, raised] = [page.getByRole('listitem'), page.getByRole('row')];
    await waiting.filter({ hasText: "Ada's parcel" }).getByText('First alert').waitFor();
    await waiting.filter({ hasText: "Bob's parcel" }).getByText('In queue').waitFor();
    await raised.filter({ hasText: "Ada's parcel" }).getByText('Still waiting').waitFor();
    expect(await raised.filter({ hasText: "Bob's parcel" }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);

    await page.getByLabel('Second alert after (seconds)').fill('60');
    await visitor.see('Must be longer than the first.');
    expect(await visitor.button('Save').isDisabled()).toBe(true);
    await page.getByLabel('Second alert after (seconds)').fill('80');
    await visitor.button('Save').click();
    await visitor.see('Thresholds saved');
    await waiting.filter({ hasText: "Ada's parcel" }).getByText('Escalated').waitFor();
    expect(await violations(page)).toEqual([]);
  });
});

describe('a chat without a subject', () => {
  it('has its id as the name of its links', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await operator.emit({
      event: 'conversation.handed_off',
      occurred_at: new Date(Date.now() - 90_000).toISOString(),
      data: conversationData('cnv_1', { subject: '' }),
    });
    await visitor.open('/alerts');
    for (const place of [page.getByRole('listitem'), page.getByRole('row')]) {
      await place.getByRole('link', { name: 'cnv_1', exact: true }).waitFor();
    }
    expect(await violations(page)).toEqual([]);
  });
});

describe('every page', () => {
  let shared: Desk;

  beforeAll(async () => {
    shared = await desk.aDesk();
    const { operator } = shared;
    await operator.register({ url: (await desk.suite.aReceiver()).url, events: ['ticket.created'], name: 'CRM' });
  });

  it('is reached and used by the keyboard alone', async () => {
    const visitor = await desk.aVisitor();
    await visitor.signIn(shared.apiKey);
    await visitor.open('/');
    await visitor.heading('Overview').waitFor();
    const { page } = visitor;
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    const endpoints = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Endpoints' });
    await endpoints.focus();
    await page.keyboard.press('Enter');
    await visitor.heading('Endpoints').waitFor();
    await page.getByRole('link', { name: 'CRM' }).focus();
    await page.keyboard.press('Enter');
    await visitor.heading('CRM').waitFor();
    await visitor.button('More actions').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menu').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('follows the theme that was chosen, also on the next visit', async () => {
    const visitor = await desk.aVisitor({ theme: 'light' });
    await visitor.bringSession(shared.apiKey);
    await visitor.open('/');
    await visitor.heading('Overview').waitFor();
    const ground = () => visitor.page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await visitor.button(/^Theme: as your system/).click();
    await visitor.button(/^Theme: light/).click();
    // Without motion, colors change in the next frame.
    await eventually(async () => {
      expect(await ground()).not.toBe(light);
    });
    const dark = await ground();
    await visitor.open('/endpoints');
    await visitor.heading('Endpoints').waitFor();
    expect(await ground()).toBe(dark);
  });
});
