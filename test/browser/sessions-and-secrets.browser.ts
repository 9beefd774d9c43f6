import { describe, expect, it } from '@jest/globals';
import { eventually } from '../support/infrastructure/eventually.js';
import { shareFrontDesk, type FrontDesk } from './support/front-desk.js';
import { holdAnswers } from './support/hold-answers.js';
import type { Visitor } from './support/visitor.js';

let desk: FrontDesk;

shareFrontDesk((opened) => {
  desk = opened;
});

describe('a secret that is shown once', () => {
  it('is not lost by a reload or a step back without a warning', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/');
    await page.getByRole('link', { name: 'API keys' }).click();
    await visitor.button('New API key').click();
    await visitor.button('Create key').click();
    const secret = page.getByTestId('secret');
    await secret.waitFor();
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void dialog.dismiss();
    });
    await page.evaluate('setTimeout(() => location.reload())');
    await eventually(() => {
      expect(asked).toEqual(['beforeunload']);
    });
    await page.evaluate('history.back()');
    await eventually(() => {
      expect(asked).toEqual(['beforeunload', 'confirm']);
    });
    expect(await secret.isVisible()).toBe(true);
    await page.getByLabel('I have stored the API key').check();
    await visitor.button('Done').click();
    await secret.waitFor({ state: 'detached' });
    await visitor.open('/events');
    expect(asked).toHaveLength(2);
  });

  it('stays when the session ends, until its user leaves', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { id } = await operator.register({ url: (await desk.suite.aReceiver()).url, events: ['ticket.created'] });
    await visitor.open(`/endpoints/${id}`);
    await visitor.choose('Rotate secret …');
    await visitor.button('Rotate secret').click();
    const secret = page.getByTestId('secret');
    await secret.waitFor();
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.message());
      void dialog.dismiss();
    });
    await desk.suite.query(
      'delete from dashboard_sessions where api_key_id in (select id from api_keys where org_id = $1)',
      [operator.orgId],
    );
    await eventually(() => {
      expect(asked).toEqual(['The secret is not stored yet. Leave without it?']);
    });
    // Longer than the time between two requests of a page without a stream.
    await page.waitForTimeout(6_000);
    expect(await secret.isVisible()).toBe(true);
    await page.getByLabel('I have stored the secret').check();
    await visitor.button('Done').click();
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    await visitor.heading('Sign in').waitFor();
    expect(asked).toHaveLength(1);
    expect(visitor.complaints.splice(0).filter((text) => !text.includes('401'))).toEqual([]);
  });

  it('is shown, whatever its user presses before the answer is there', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    const { id } = await operator.register({ url, events: ['ticket.created'] });
    await visitor.open(`/endpoints/${id}`);
    const release = await holdAnswers(page, '**/rotate-secret');
    await visitor.choose('Rotate secret …');
    const dialog = page.getByRole('dialog');
    await visitor.button('Rotate secret').click();
    await dialog.locator('[aria-busy="true"]').waitFor();
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    for (const name of ['Close', 'Cancel']) await dialog.getByRole('button', { name }).dispatchEvent('click');
    release();
    await page.getByTestId('secret').waitFor();
  });

  it('is selected where the browser allows no copying', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    // As over http.
    await page.addInitScript('delete Navigator.prototype.clipboard');
    await visitor.open('/keys');
    await visitor.button('New API key').click();
    await visitor.button('Create key').click();
    const secret = await page.getByTestId('secret').textContent();
    await visitor.button('Copy API key').click();
    await visitor.see('Select the text and copy it yourself.');
    expect(await page.evaluate<string>('getSelection().toString()')).toBe(secret);
    await page.getByLabel('I have stored the API key').check();
    await visitor.button('Done').click();
  });

  it('is not lost by leaving the form of a new endpoint without a warning', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/endpoints/new');
    await page.getByLabel('URL').fill((await desk.suite.aReceiver()).url);
    await visitor.button('Choose all').click();
    const release = await holdAnswers(page, '**/external/webhooks');
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.message());
      void dialog.dismiss();
    });
    await visitor.button('Create endpoint').click();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await eventually(() => {
      expect(asked).toEqual(['The new secret is not shown yet. Leave without it?']);
    });
    release();
    await page.getByTestId('secret').waitFor();
  });
});

describe('a tab whose session a sign-in in another tab has replaced', () => {
  it('goes on with the same key, and saves nothing with another one', async () => {
    const { visitor, operator, apiKey } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    const { id } = await operator.register({ url, events: ['ticket.created'], name: 'CRM' });
    const rename = async (name: string) => {
      await visitor.open(`/endpoints/${id}/edit`);
      await page.getByLabel('Name (optional)').fill(name);
    };
    // The tabs of a browser share its cookie.
    const takeCookieOf = async ({ context }: Visitor) => visitor.context.addCookies(await context.cookies());
    await rename('CRM sync');
    const again = await desk.aVisitor();
    await again.bringSession(apiKey);
    await takeCookieOf(again);
    await visitor.button('Save').click();
    await visitor.heading('CRM sync').waitFor();

    await rename('Nobody’s');
    await takeCookieOf((await desk.aDesk()).visitor);
    await visitor.button('Save').click();
    await visitor.see('Not found');
    expect(await operator.endpoint(id)).toMatchObject({ name: 'CRM sync' });
    expect(visitor.complaints.splice(0).filter((text) => !/403|404/.test(text))).toEqual([]);
  });

  it('shows the organization of the other tab', async () => {
    const [mine, other] = [await desk.aDesk(), await desk.aDesk()];
    const { url } = await desk.suite.aReceiver();
    await mine.operator.register({ url, events: ['ticket.created'], name: 'Mine' });
    await other.operator.register({ url, events: ['ticket.created'], name: 'Other' });
    const { page, context } = mine.visitor;
    await mine.visitor.open('/endpoints');
    await page.getByRole('link', { name: 'Mine' }).waitFor();
    const second = await context.newPage();
    await context.addCookies(await other.visitor.context.cookies());
    await second.goto(`${desk.suite.app.url}/endpoints`);
    await second.getByRole('link', { name: 'Other' }).waitFor();
    await page.getByRole('link', { name: 'Other' }).waitFor();
    await page.getByTitle(other.operator.orgId).waitFor();
    expect(await page.getByText('Mine').count()).toBe(0);
  });
});

describe('a key with few scopes', () => {
  it('lands on a page that it can use, and sees only such pages', async () => {
    const { operator } = await desk.aDesk();
    const visitor = await desk.aVisitor();
    await visitor.signIn(await desk.aKey(operator, ['events:read']), 'Events');
    const places = visitor.page.getByRole('navigation', { name: 'Main' }).getByRole('link');
    expect(await places.allTextContents()).toEqual(['Events', 'Feed readers', 'Event catalog', 'Code samples']);
    await visitor.open('/');
    await visitor.heading('Events').waitFor();
    await visitor.open('/endpoints');
    await visitor.heading('Your key does not allow this page').waitFor();
    await visitor.see('Sign in with another key.');
    await visitor.open('/samples');
    await visitor.see('Verify the raw bytes');
  });

  it('cannot follow links that it must not, and sees that', async () => {
    const { operator } = await desk.aDesk();
    const visitor = await desk.aVisitor();
    await visitor.signIn(await desk.aKey(operator, ['webhooks:read']));
    await visitor.open('/endpoints');
    const create = visitor.page.getByRole('link', { name: 'New endpoint' }).first();
    expect(await create.getAttribute('aria-disabled')).toBe('true');
    expect(await create.getAttribute('title')).toContain('webhooks:write');
    const look = await visitor.page.evaluate<{
      readonly opacity: string;
      readonly cursor: string;
    }>(
      `(({ opacity, cursor }) => ({ opacity, cursor }))(getComputedStyle(document.querySelector('a[aria-disabled="true"]')))`,
    );
    expect(look.cursor).toBe('not-allowed');
    expect(Number(look.opacity)).toBeLessThan(1);
  });
});

/**
 * Marks that pile up above and below one letter, and a mark that turns the text after it around. The api refuses such
 * names, but names that were stored before have them.
 */
const HOSTILE_NAME = `Z${'\u0301\u0323'.repeat(50)}\u202e`;

describe('a name that others chose', () => {
  it.each([1_280, 390])('changes nothing beside it, in %i pixels', async (width) => {
    const { visitor, operator } = await desk.aDesk({ width });
    const { page } = visitor;
    const aNamedKey = async (name: string) => {
      const body = JSON.stringify({ name, scopes: ['events:read'] });
      expect((await operator.api.request('POST', '/external/api-keys', body)).status).toBe(201);
    };
    for (const name of ['Above', 'Between', 'Below']) await aNamedKey(name);
    const rename = 'update api_keys set name = $1 where name = $2 and org_id = $3';
    await desk.suite.query(rename, [HOSTILE_NAME, 'Between', operator.orgId]);
    await visitor.open('/keys');
    const hostile = page.getByText(HOSTILE_NAME);
    await hostile.waitFor();
    const neighbours = page.getByRole('row').filter({ hasText: /Above|Below/ });
    const pictures = async () =>
      Promise.all((await neighbours.all()).map(async (row) => (await row.screenshot()).toString('base64')));
    const beside = await pictures();
    // Few fonts pile marks up as high as they can be, so a shadow of the text stands for them.
    await hostile.evaluate(({ style }: { readonly style: { textShadow: string } }) => {
      style.textShadow = '0 60px red, 0 -60px red';
    });
    expect((await pictures()).map((picture, index) => picture === beside[index])).toEqual([true, true]);
  });

  it('is shown where it leads to, and typed to delete it', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    const { id } = await operator.register({ url, events: ['ticket.created'], name: 'Z' });
    await desk.suite.query('update endpoints set name = $1 where id = $2', [HOSTILE_NAME, id]);
    await visitor.open('/endpoints');
    await page.getByText(HOSTILE_NAME).click();
    await visitor.heading(HOSTILE_NAME).waitFor();
    await visitor.choose('Delete');
    await page.getByLabel(`Type “${HOSTILE_NAME}” to confirm`).fill(HOSTILE_NAME);
    await visitor.button('Delete endpoint').click();
    await visitor.see(/^Deleted “\u2068Z[^\u202e]*\u2069”$/);
  });

  it('is typed to delete it as it is seen, or else the host is', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    const { host } = new URL(url);
    for (const [name, typed] of [
      ['CRM\u00a0 sync  Cafe\u0301 ', 'CRM sync Café'],
      ['', host],
    ] as const) {
      await operator.register({ url, events: ['ticket.created'], name });
      await visitor.open('/endpoints');
      await page.getByRole('row').getByRole('link').click();
      await visitor.choose('Delete');
      const button = visitor.button('Delete endpoint');
      await button.waitFor();
      expect(await button.isDisabled()).toBe(true);
      await page.getByLabel('to confirm').fill(typed);
      await button.click();
      await visitor.heading('Endpoints').waitFor();
    }
    expect(await operator.endpoints()).toEqual([]);
  });
});
