import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, FrameLocator, Page } from 'playwright-core';
import type { OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { DeliverySuite } from '../e2e/delivery/support/delivery-suite.js';
import { anApiKey } from '../support/api-keys.js';
import { anOrgId, aWidgetId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aBrowser } from './support/a-browser.js';
import { violations } from './support/accessibility.js';
import { breakStream } from './support/broken-stream.js';
import { holdAnswers } from './support/hold-answers.js';
import { Visitor } from './support/visitor.js';

/** Where to keep what the portal looks like; nowhere by default. */
const SCREENSHOTS = process.env['PORTAL_SCREENSHOTS'];
/** The flags that the guide asks for. */
const SANDBOX = /^sandbox="(.+)"$/m.exec(readFileSync('docs/portal.md', 'utf8'))?.[1] ?? '';

let suite: DeliverySuite;
let browser: Browser;
let service: string;
let customers: Server;
const visitors: Visitor[] = [];

/** The product's page: another origin than the portal's, which is what `localhost` is to `127.0.0.1`. */
let productUrl: string;

beforeAll(async () => {
  // Only frames the link that its own address has.
  customers = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://product');
    const link = searchParams.get('link') ?? '';
    const sandbox = searchParams.has('sandboxed') ? `sandbox="${SANDBOX}"` : '';
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><html lang="en"><title>Product</title><body style="margin:0;background:#fff8e7">
      <h1 style="font:600 20px sans-serif;margin:16px">Acme settings</h1>
      <iframe title="Webhooks" allow="clipboard-write" ${sandbox} src="${link.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}" style="border:0;width:100%;height:800px"></iframe>`);
  });
  await new Promise<void>((resolve) => customers.listen(0, '127.0.0.1', resolve));
  productUrl = `http://localhost:${(customers.address() as AddressInfo).port}`;
  [suite, browser] = await Promise.all([
    DeliverySuite.start({ PORTAL_ORIGINS: productUrl, PORTAL_NAME: 'Acme Events', PORTAL_ACCENT: '#7a1fa2' }),
    aBrowser(),
  ]);
  service = await anApiKey(suite.app.app.get(Store), null);
});

afterEach(async () => {
  const complaints = visitors.flatMap((visitor) => visitor.complaints);
  await Promise.all(visitors.splice(0).map((visitor) => visitor.leave()));
  expect(complaints).toEqual([]);
});

afterAll(async () => {
  await browser.close();
  await suite.stop();
  await new Promise((resolve) => customers.close(resolve));
});

async function asBackend<T>(method: string, path: string, body: object): Promise<T> {
  const response = await fetch(`${suite.app.url}/api/v1/internal/orgs/${path}`, {
    method,
    headers: { 'x-api-key': service, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBeLessThan(300);
  return ((await response.json()) as { data: T }).data;
}

const ALL = ['webhooks:read', 'webhooks:write', 'events:read'];

async function aLink(orgId: OrgId, scopes = ALL, user = 'Ada', seconds = 3_600): Promise<string> {
  const body = { scopes, return_url: `${productUrl}/`, user_label: user, expires_in: seconds };
  return (await asBackend<{ url: string }>('POST', `${orgId}/portal-sessions`, body)).url;
}

async function aVisitor(width?: number): Promise<Visitor> {
  const visitor = await Visitor.come(browser, suite.app.url, width === undefined ? {} : { width });
  visitors.push(visitor);
  return visitor;
}

async function embed(page: Page, link: string, flags = ''): Promise<FrameLocator> {
  await page.goto(`${productUrl}/?link=${encodeURIComponent(link)}${flags}`);
  return page.frameLocator('iframe');
}

async function keepScreenshot(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS !== undefined) await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
}

const heading = (frame: FrameLocator | Page, name: string) =>
  frame.getByRole('heading', { name, exact: true, level: 1 });
const link = (frame: FrameLocator | Page, name: string) => frame.getByRole('link', { name, exact: true });

describe('the portal in a page of another origin', () => {
  it('lets a customer register an endpoint, test it, and see events arrive, without a cookie', async () => {
    const orgId = anOrgId();
    const widgetId = aWidgetId();
    await asBackend('PUT', orgId, { name: 'Customer Ltd', widgets: [{ id: widgetId, name: 'Shop window' }] });
    const receiver = await suite.aReceiver();
    const visitor = await aVisitor();
    const frame = await embed(visitor.page, await aLink(orgId));

    await heading(frame, 'Endpoints').waitFor();
    await frame.getByText('Acme Events').waitFor();
    await frame.getByText('Customer Ltd · Ada').waitFor();
    for (const absent of ['API keys', 'Live-chat alerts', 'Audit log', 'Overview']) {
      expect(await link(frame, absent).count()).toBe(0);
    }
    await link(frame, 'New endpoint').first().click();
    await frame.getByLabel('URL').fill(receiver.url);
    await frame.getByLabel('Search event types').fill('ticket.created');
    await frame.getByRole('checkbox', { name: /^ticket\.created / }).check();
    await frame.getByRole('button', { name: 'Create endpoint' }).click();
    await frame.getByLabel('I have stored the secret').check();
    await frame.getByRole('button', { name: 'Done' }).click();
    await frame.getByRole('button', { name: 'Send test' }).click();
    await frame.getByText('Test delivered').waitFor();
    expect(receiver.received[0]?.headers['x-service-event']).toBe('test');
    await keepScreenshot(visitor.page, 'portal-endpoint');

    await link(frame, 'Events').click();
    await frame.getByText('Live', { exact: true }).waitFor();
    const operator = await suite.anOperator(orgId);
    await operator.api.emit([
      { event: 'ticket.created', widget_id: widgetId, data: { id: 'tkt_7', subject: 'Parcel' } },
    ]);
    await frame.getByText('Parcel').click();
    await frame.getByText('Shop window').waitFor();
    await keepScreenshot(visitor.page, 'portal-events');

    await link(frame, 'Event catalog').click();
    await heading(frame, 'Event catalog').waitFor();
    await frame.getByText('ticket.created', { exact: true }).click();
    await frame.getByText('Example of data: ticket.created').waitFor();
    await frame.getByLabel('Send this example to').waitFor();
    await frame.getByRole('button', { name: 'Send an example' }).click();
    await frame.getByText('Test delivered').waitFor();
    // The event before it may be pushed later.
    const example = receiver.received.find(({ headers }) => /^evt_EXAMPLE/.test(String(headers['x-service-event-id'])));
    expect(example?.headers['x-service-event']).toBe('ticket.created');
    await keepScreenshot(visitor.page, 'portal-catalog');
    expect(await visitor.context.cookies()).toEqual([]);
    expect(await link(frame, 'Back').getAttribute('target')).toBe('_top');
  });

  it('works in a frame with the sandbox of the guide: it submits forms, asks questions and leads back', async () => {
    const receiver = await suite.aReceiver();
    const visitor = await aVisitor();
    const { page } = visitor;
    const frame = await embed(page, await aLink(anOrgId()), '&sandboxed');
    expect(await page.locator('iframe').getAttribute('sandbox')).toContain('allow-scripts');
    await link(frame, 'New endpoint').first().click();
    await frame.getByLabel('URL').fill(receiver.url);
    await frame.getByRole('button', { name: 'Choose all' }).click();
    const release = await holdAnswers(page, '**/external/webhooks');
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void dialog.dismiss();
    });
    await frame.getByRole('button', { name: 'Create endpoint' }).click();
    await link(frame, 'Cancel').click();
    await eventually(() => {
      expect(asked).toEqual(['confirm']);
    });
    release();
    await frame.getByLabel('I have stored the secret').check();
    await frame.getByRole('button', { name: 'Done' }).click();
    await frame.getByRole('button', { name: 'Send test' }).waitFor();
    await link(frame, 'Back').click();
    await page.waitForURL(`${productUrl}/`);
  });

  it('goes on when its page is loaded again, and shows no session to anyone with an old link', async () => {
    const [mine, other] = [anOrgId(), anOrgId()];
    await asBackend('PUT', mine, { name: 'Mine' });
    await asBackend('PUT', other, { name: 'Other' });
    const [myLink, othersLink] = [await aLink(mine), await aLink(other)];
    const visitor = await aVisitor();
    // In a tab of its own: this browser, as others in private windows, stores nothing in frames of other sites.
    const { page } = visitor;
    await page.goto(myLink);
    await page.getByText('Mine · Ada').waitFor();
    await page.reload();
    await page.getByText('Mine · Ada').waitFor();

    // Another user signs in to the product in the same tab.
    await page.goto(othersLink);
    await page.getByText('Other · Ada').waitFor();
    const thief = await aVisitor();
    await (await embed(thief.page, myLink)).getByText('This session has ended').waitFor();
    // In the tab of the other session, too: the old link shows neither the old session nor the other one.
    await page.goto(myLink);
    await page.getByText('This session has ended').waitFor();
    for (const each of [visitor, thief]) dropRefusals(each);
  });

  it('is refused in a page of any other origin, and the dashboard in all', async () => {
    const visitor = await aVisitor();
    const stranger = productUrl.replace('localhost', '[::1]');
    const framed = async (origin: string, path: string) => {
      const answer = await fetch(`${suite.app.url}${path}`);
      const policy = answer.headers.get('content-security-policy') ?? '';
      return policy.includes(`frame-ancestors ${origin};`);
    };
    expect(await framed(productUrl, '/portal')).toBe(true);
    expect(await framed(stranger, '/portal')).toBe(false);
    await visitor.page.goto(`${productUrl}/?link=${encodeURIComponent(`${suite.app.url}/sign-in`)}`);
    await visitor.page.locator('iframe').waitFor();
    await eventually(() => {
      expect(visitor.complaints.join()).toMatch(/frame-ancestors 'none'/);
    });
    expect(await visitor.page.frameLocator('iframe').getByText('Sign in').count()).toBe(0);
    visitor.complaints.splice(0);
  });

  it('ends where it is, with words, when the session ends', async () => {
    const orgId = anOrgId();
    const visitor = await aVisitor();
    const frame = await embed(visitor.page, await aLink(orgId));
    await heading(frame, 'Endpoints').waitFor();
    await suite.query('delete from portal_sessions where org_id = $1', [orgId]);
    await frame.getByText('This session has ended').waitFor();
    dropRefusals(visitor);
  });
});

describe('the portal', () => {
  it('shows pages by the scopes of the session alone', async () => {
    const visitor = await aVisitor();
    await visitor.page.goto(await aLink(anOrgId(), ['events:read', 'keys:write', 'settings:read']));
    await heading(visitor.page, 'Events').waitFor();
    for (const there of ['API keys', 'Live-chat alerts', 'Audit log']) await link(visitor.page, there).waitFor();
    expect(await link(visitor.page, 'Endpoints').count()).toBe(0);
    expect(visitor.page.url()).not.toContain('gpl_');
  });

  it('creates a key with scopes that its session has, and says when the key ends', async () => {
    const visitor = await aVisitor();
    const { page } = visitor;
    await page.goto(await aLink(anOrgId(), ['webhooks:read', 'keys:write']));
    await link(page, 'API keys').click();
    await visitor.button('New API key').click();
    const create = visitor.button('Create key');
    expect(await create.isDisabled()).toBe(true);
    await page.getByRole('checkbox', { name: /^webhooks:read/ }).check();
    await page.getByLabel('Expires').selectOption('Never');
    await create.click();
    await page.getByTestId('secret').waitFor();
    await page.getByRole('dialog').getByText('It does not expire.').waitFor();
  });

  it('says when its session ends within five minutes', async () => {
    const visitor = await aVisitor();
    const { page } = visitor;
    const note = page.getByRole('status').getByText(/^This session ends at \d/);
    await page.goto(await aLink(anOrgId(), ALL, 'Ada', 295));
    await note.waitFor();
    expect(await violations(page)).toEqual([]);
    await page.goto(await aLink(anOrgId(), ALL, 'Ada', 600));
    await heading(page, 'Endpoints').waitFor();
    expect(await note.count()).toBe(0);
  });

  it('shows no failure any more after it was without a connection', async () => {
    const orgId = anOrgId();
    await asBackend('PUT', orgId, { name: 'Mine' });
    const visitor = await aVisitor();
    const { page } = visitor;
    await page.goto(await aLink(orgId));
    await heading(page, 'Endpoints').waitFor();
    await page.getByText('Mine · Ada').waitFor();

    await page.route('**/api/**', (route) => route.abort());
    // What the browser reports when it is online again: pages then ask for what changes.
    await page.evaluate("dispatchEvent(new Event('online'))");
    await page.getByText(/^Not updated since \d/).waitFor();
    // Only the banner asks for the name again, with everything else that is shown.
    await page.waitForEvent('requestfailed', (request) => request.url().endsWith('/dashboard/organization'));
    await page.unroute('**/api/**');
    await page.getByText(/not updated since/i).waitFor({ state: 'detached' });
    expect(await page.getByText('/portal/session').count()).toBe(0);
    expect(visitor.complaints.splice(0).filter((complaint) => !complaint.includes('ERR_'))).toEqual([]);
  });

  it('shows no failure when its stream of changes is cut and everything else is answered', async () => {
    const visitor = await aVisitor();
    const { page } = visitor;
    const staysQuiet = await breakStream(page, { contentType: 'text/event-stream', body: 'event: beat\ndata:\n\n' });
    await page.goto(await aLink(anOrgId()));
    await link(page, 'Event catalog').click();
    await heading(page, 'Event catalog').waitFor();
    await staysQuiet();
  });

  it('finds an event by its id', async () => {
    const orgId = anOrgId();
    const operator = await suite.anOperator(orgId);
    const [id = ''] = await operator.emit({ event: 'ticket.created', data: { id: 'tkt_7', subject: 'Parcel' } });
    const visitor = await aVisitor();
    await visitor.page.goto(await aLink(orgId, ['events:read']));
    await heading(visitor.page, 'Events').waitFor();
    await visitor.page.getByText('Parcel').waitFor();
    await visitor.find(id);
    await visitor.page.getByRole('heading', { name: 'ticket.created', level: 2 }).waitFor();
  });

  it('says in its own words what a link does not allow, whatever the address', async () => {
    const visitor = await aVisitor();
    const { page } = visitor;
    await page.goto(await aLink(anOrgId(), ['webhooks:read']));
    const create = link(page, 'New endpoint').first();
    await create.waitFor();
    expect(await create.getAttribute('title')).toBe(
      'This link does not allow that (webhooks:write). Ask Acme Events for another link.',
    );
    for (const path of [
      'endpoints/new',
      `endpoints/whe_${'0'.repeat(26)}/edit`,
      'events',
      'keys',
      'audit-log',
      'alerts',
    ]) {
      await visitor.open(`/portal/${path}`);
      await heading(page, 'This link does not allow this page').waitFor();
      const text = await page.getByRole('main').innerText();
      expect(text).toMatch(/It takes the scope [a-z]+:[a-z]+: .*\. Ask Acme Events for another link\.$/);
    }
    await visitor.open('/portal/agents');
    await heading(page, 'There is no such page').waitFor();
  });

  it('names neither keys nor settings of the server in its forms', async () => {
    const visitor = await aVisitor();
    const { page } = visitor;
    await page.goto(await aLink(anOrgId(), ['webhooks:read', 'webhooks:write', 'settings:read']));
    await link(page, 'New endpoint').first().click();
    await page.getByText('Delivery', { exact: true }).click();
    expect(await page.getByRole('button', { name: 'Try it on recent events' }).getAttribute('title')).toBe(
      'This link does not allow that (events:read). Ask Acme Events for another link.',
    );
    await page.getByLabel('Authorization').selectOption('oauth2');
    await page.getByText('Acme Events fetches a token there').waitFor();
    await link(page, 'Live-chat alerts').click();
    await page.getByText('One in each line.', { exact: true }).waitFor();
  });

  it.each([1_280, 390])('has room for long names of the organization and the user, in %i pixels', async (width) => {
    const [org, user] = ['Wide Organization '.repeat(6).trim(), `${'a'.repeat(60)}@example.com`];
    for (const [orgName, userName] of [
      [org, 'Ada'],
      ['Co', user],
      [org, user],
    ] as const) {
      const orgId = anOrgId();
      await asBackend('PUT', orgId, { name: orgName });
      const visitor = await aVisitor(width);
      const { page } = visitor;
      await page.goto(await aLink(orgId, ALL, userName));
      const header = page.getByRole('banner');
      for (const name of [orgName, userName]) {
        const shown = header.getByTitle(name, { exact: true });
        const { x, width: visible } = (await shown.boundingBox())!;
        const whole = await shown.evaluate(({ scrollWidth }: { readonly scrollWidth: number }) => scrollWidth);
        // All of a short name, or enough of a long one to see its beginning.
        expect([name, visible + 1 >= Math.min(whole, 48)]).toEqual([name, true]);
        expect([name, x >= 0 && x + visible <= width]).toEqual([name, true]);
      }
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    }
  });

  it.each([
    ['light', 1_280],
    ['dark', 1_280],
    ['light', 390],
  ] as const)('keeps nobody out, in %s and %i pixels wide', async (theme, width) => {
    const visitor = await Visitor.come(browser, suite.app.url, { theme, width });
    visitors.push(visitor);
    await visitor.page.goto(await aLink(anOrgId()));
    for (const page of ['Endpoints', 'Events', 'Event catalog']) {
      await link(visitor.page, page).click();
      await heading(visitor.page, page).waitFor();
      expect([page, await violations(visitor.page)]).toEqual([page, []]);
    }
    await keepScreenshot(visitor.page, `portal-${theme}-${width}`);
  });
});

/** The browser itself complains about each 401, which is what these tests are about. */
function dropRefusals(visitor: Visitor): void {
  const others = visitor.complaints.filter((complaint) => !complaint.includes('401'));
  visitor.complaints.splice(0, Infinity, ...others);
}
