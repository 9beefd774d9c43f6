import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from '../support/infrastructure/eventually.js';
import { violations } from './support/accessibility.js';
import { shareFrontDesk, type FrontDesk } from './support/front-desk.js';

let desk: FrontDesk;

shareFrontDesk((opened) => {
  desk = opened;
});

/** Where the focus is, as the name of its element. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>(
    '(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim() || document.activeElement.tagName',
  );
}

describe('the form of an endpoint', () => {
  it('moves the focus to what is wrong, and its message goes when that is changed', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/endpoints/new');
    await page.getByLabel('URL').fill('https://localhost.internal/hook');
    await visitor.button('Create endpoint').click();
    await visitor.see('Choose at least one event type.');
    await eventually(async () => {
      expect(await focused(page)).toBe('Choose at least one event type.');
    });
    await visitor.button('Choose all').click();
    await visitor.button('Create endpoint').click();
    await page.locator('input[aria-invalid="true"]').waitFor();
    await eventually(async () => {
      expect(await focused(page)).toBe('URL');
    });
    const error = page.locator('.field-error');
    expect(await error.textContent()).not.toContain('#/');
    await page.getByLabel('URL').fill('https://localhost.internal/hooks');
    expect(await error.count()).toBe(0);
    expect(visitor.complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  });

  it('shows a failure where the focus is, keeps the focus while busy, and can be sent again', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/endpoints/new');
    await page.getByLabel('URL').fill((await desk.suite.aReceiver()).url);
    await visitor.button('Choose all').click();
    const held: (() => void)[] = [];
    await page.route('**/external/webhooks', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await new Promise<void>((resolve) => held.push(resolve));
      return route.abort();
    });
    const create = visitor.button('Create endpoint');
    await create.focus();
    await page.keyboard.press('Enter');
    await eventually(async () => {
      expect(await create.getAttribute('aria-disabled')).toBe('true');
      expect(held).toHaveLength(1);
    });
    expect(await focused(page)).toBe('Create endpoint');
    held[0]!();
    const notice = page.getByRole('alert').filter({ hasText: 'The server cannot be reached' });
    await notice.waitFor();
    await eventually(async () => {
      expect(await focused(page)).toContain('The server cannot be reached');
    });
    const bottom = await page.evaluate<number>('document.activeElement.getBoundingClientRect().bottom - innerHeight');
    expect(bottom).toBeLessThanOrEqual(0);
    await page.unroute('**/external/webhooks');
    await create.click();
    await page.getByTestId('secret').waitFor();
    visitor.complaints.splice(0);
  });

  it('does not wait for ever while the browser is offline', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/endpoints/new');
    await page.getByLabel('URL').fill('https://example.com/hook');
    await visitor.button('Choose all').click();
    await visitor.context.setOffline(true);
    await visitor.button('Create endpoint').click();
    await page.getByRole('alert').filter({ hasText: 'The server cannot be reached' }).waitFor();
    await visitor.see(/Not updated since/);
    await visitor.context.setOffline(false);
    visitor.complaints.splice(0);
  });

  it('takes few presses of Tab, and the arrow keys move between event types', async () => {
    const { visitor } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/endpoints/new');
    await page.getByRole('checkbox', { name: /^ticket\.created / }).waitFor();
    await page.getByLabel('URL').focus();
    let presses = 0;
    for (; presses < 20 && (await focused(page)) !== 'Create endpoint'; presses++) await page.keyboard.press('Tab');
    expect(presses).toBeLessThan(12);
    await page.getByRole('checkbox', { name: /^Live-chat conversations/ }).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    expect(await page.getByRole('checkbox', { name: /^conversation\.created / }).isChecked()).toBe(true);
  });

  it('chooses all that the search has found, and no more', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/endpoints/new');
    await page.getByLabel('URL').fill((await desk.suite.aReceiver()).url);
    await page.getByLabel('Search event types').fill('visitors');
    await visitor.button('Choose all 2 found').click();
    await visitor.button('Create endpoint').click();
    await page.getByTestId('secret').waitFor();
    const [endpoint] = await operator.endpoints();
    expect(endpoint!.events.toSorted()).toEqual(['lead.created', 'visitor.identified']);
  });
});

describe('the headers and the certificate of an endpoint', () => {
  it('are not dropped: a line without a value is refused, and a new certificate is not removed', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/endpoints/new');
    await page.getByLabel('URL').fill((await desk.suite.aReceiver()).url);
    await visitor.button('Choose all').click();
    await page.getByText('Delivery', { exact: true }).click();
    const headers = page.getByLabel('Additional headers');
    await headers.fill('X-Tenant acme');
    await visitor.button('Create endpoint').click();
    await visitor.see('Write each line as “Name: value”.');
    await eventually(async () => {
      expect(await focused(page)).toBe('Additional headers');
    });
    await headers.fill('X-Tenant: acme');
    await visitor.button('Create endpoint').click();
    await page.getByTestId('secret').waitFor();
    const [endpoint] = await operator.endpoints();
    expect(endpoint).toMatchObject({ header_names: ['X-Tenant'] });

    // Only https endpoints have a certificate, and the receivers of these tests have none.
    const client_certificate = { subject: 'CN=a', fingerprint: 'AB', expires_at: '2099-01-02T03:04:05.000Z' };
    await page.route(`**/webhooks/${endpoint!.id}`, async (route) => {
      const response = await route.fetch();
      const { data } = (await response.json()) as { data: object };
      await route.fulfill({ response, json: { data: { ...data, client_certificate } } });
    });
    await visitor.open(`/endpoints/${endpoint!.id}/edit`);
    const removes = page.getByRole('checkbox', { name: 'Present no client certificate any more' });
    await removes.check();
    await page.getByLabel('Client certificate', { exact: true }).fill('-----BEGIN CERTIFICATE-----');
    expect([await removes.isChecked(), await removes.isDisabled()]).toEqual([false, true]);
    await page.getByLabel('Client certificate', { exact: true }).fill('');
    expect(await removes.isChecked()).toBe(true);
  });
});

describe('the form of an endpoint that exists', () => {
  it('saves what was changed in it, and leaves the changes of others', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { id } = await operator.register({
      url: (await desk.suite.aReceiver()).url,
      events: ['ticket.created'],
      name: 'CRM',
    });
    await visitor.open(`/endpoints/${id}/edit`);
    await page.getByLabel('Name (optional)').fill('CRM sync');
    const others = { events: ['ticket.reply'], max_per_second: 7 };
    const read = page.waitForResponse(
      async (response) =>
        response.url().endsWith(`/webhooks/${id}`) && (await response.text()).includes('"max_per_second":7'),
    );
    await operator.change(id, others);
    await read;
    await visitor.button('Save').click();
    await visitor.heading('CRM sync').waitFor();
    expect(await operator.endpoint(id)).toMatchObject({ name: 'CRM sync', ...others });
  });

  it('renames an endpoint whose host is gone', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const { url } = await desk.suite.aReceiver();
    const { id } = await operator.register({ url, events: ['ticket.created'] });
    await desk.suite.query('update endpoints set url = $1 where id = $2', ['https://localhost.internal/hook', id]);
    await visitor.open(`/endpoints/${id}/edit`);
    await page.getByLabel('Name (optional)').fill('Gone');
    await visitor.button('Save').click();
    await visitor.heading('Gone').waitFor();
  });
});

describe('the filter of an endpoint', () => {
  it('is tried on recent events, is refused where it is wrong, and is stored', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    const ticket = (priority?: string) => ({
      event: 'ticket.created',
      data: priority === undefined ? {} : { priority },
    });
    await operator.emit(ticket('urgent'), ticket('low'), ticket());
    await visitor.open('/endpoints/new');
    await page.getByRole('checkbox', { name: /^ticket\.created / }).check();
    await page.getByLabel('URL').fill((await desk.suite.aReceiver()).url);
    await page.getByText('Delivery', { exact: true }).click();
    const filter = page.getByLabel('Filter');
    const tryIt = visitor.button('Try it on recent events');
    expect(await tryIt.getAttribute('title')).toBe('Write a filter first.');

    await filter.fill('event.data.subject.matches("x")');
    await tryIt.click();
    await visitor.see('Line 1, column 1: regular expressions are not available.');
    await filter.fill('event.type == "ticket.created"');
    await visitor.button('Create endpoint').click();
    await visitor.see('Line 1, column 7: event of ticket.created has no member "type".');

    await filter.fill('event.data.priority == "urgent"');
    await eventually(async () => {
      await tryIt.click();
      await page.getByText('Of the newest 3 events, 1 match').waitFor({ timeout: 500 });
    });
    const listed = page.getByRole('list').filter({ hasText: '#1' }).getByRole('listitem');
    expect((await listed.allTextContents()).map((text) => text.trim())).toEqual([
      'Pushed: no answer #3 ticket.created: No such key: priority.',
      'Not pushed #2 ticket.created',
      'Pushed #1 ticket.created',
    ]);
    expect(await violations(page)).toEqual([]);
    await visitor.button('Create endpoint').click();
    await page.getByTestId('secret').waitFor();
    const [endpoint] = await operator.endpoints();
    expect(endpoint).toMatchObject({ filter: 'event.data.priority == "urgent"' });
    await visitor.open(`/endpoints/${endpoint!.id}/edit`);
    expect(await page.getByLabel('Filter').inputValue()).toBe('event.data.priority == "urgent"');
    // The refused requests.
    visitor.complaints.splice(0);
  });
});

describe('the order of an endpoint', () => {
  it('is chosen with the size of a batch, is refused where that is wrong, and can be taken away', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/endpoints/new');
    await page.getByRole('checkbox', { name: /^ticket\.created / }).check();
    await page.getByLabel('URL').fill((await desk.suite.aReceiver()).url);
    await page.getByText('Delivery', { exact: true }).click();
    const order = page.getByLabel('Order', { exact: true });
    const batch = page.getByLabel('Events in a request, at most');
    expect([await order.inputValue(), await batch.count()]).toEqual(['none', 0]);

    await order.selectOption('By subject: conversation, ticket, …');
    expect(await batch.inputValue()).toBe('1');
    await batch.fill('501');
    await visitor.button('Create endpoint').click();
    await visitor.see(/must be an integer from 1 to 500/i);
    expect(await batch.getAttribute('aria-invalid')).toBe('true');
    expect(await violations(page)).toEqual([]);
    await batch.fill('50');
    await visitor.button('Create endpoint').click();
    await page.getByTestId('secret').waitFor();
    const [endpoint] = await operator.endpoints();
    expect(endpoint).toMatchObject({ ordering: { by: 'subject', batch: 50 } });

    await visitor.open(`/endpoints/${endpoint!.id}/edit`);
    expect([await order.inputValue(), await batch.inputValue()]).toEqual(['subject', '50']);
    await order.selectOption('None');
    expect(await batch.count()).toBe(0);
    await visitor.button('Save').click();
    await eventually(async () => {
      expect(await operator.endpoint(endpoint!.id)).toMatchObject({ ordering: { by: 'none', batch: 1 } });
    });
    // The refused request.
    visitor.complaints.splice(0);
  });
});

describe('the urgent events of an endpoint', () => {
  it('are the usual alerts, none, or types that are chosen', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await visitor.open('/endpoints/new');
    await page.getByRole('checkbox', { name: /^ticket\.created / }).check();
    await page.getByRole('checkbox', { name: /^ticket\.sla_breach / }).check();
    await page.getByLabel('URL').fill((await desk.suite.aReceiver()).url);
    await page.getByText('Delivery', { exact: true }).click();
    const urgency = page.getByLabel('Urgent events');
    const types = page.getByRole('group', { name: 'Urgent types' }).getByRole('checkbox');
    expect([await urgency.inputValue(), await types.count()]).toEqual(['usual', 0]);

    await urgency.selectOption('Chosen types');
    await page.getByRole('checkbox', { name: 'ticket.sla_breach', exact: true }).check();
    expect(await violations(page)).toEqual([]);
    await visitor.button('Create endpoint').click();
    await page.getByTestId('secret').waitFor();
    const [endpoint] = await operator.endpoints();
    expect(endpoint).toMatchObject({ urgent: ['ticket.sla_breach'] });

    await visitor.open(`/endpoints/${endpoint!.id}/edit`);
    expect([await urgency.inputValue(), await types.count()]).toEqual(['chosen', 2]);
    await urgency.selectOption('None');
    expect(await types.count()).toBe(0);
    await visitor.button('Save').click();
    await eventually(async () => {
      expect(await operator.endpoint(endpoint!.id)).toMatchObject({ urgent: [] });
    });
  });
});
