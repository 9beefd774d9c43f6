import { describe, expect, it } from '@jest/globals';
import type { Page, Request } from 'playwright-core';
import type { Operator } from '../e2e/delivery/support/operator.js';
import { seqsAt } from '../e2e/delivery/support/pushes.js';
import { conversationData } from '../support/conversations.js';
import { eventually } from '../support/infrastructure/eventually.js';
import type { Receiver } from '../support/receiver.js';
import { aTcpProxy } from '../support/tcp-proxy.js';
import { violations } from './support/accessibility.js';
import { breakStream } from './support/broken-stream.js';
import { RETRIED_SOON, shareFrontDesk, type FrontDesk } from './support/front-desk.js';
import { tickets } from './support/tickets.js';

let desk: FrontDesk;

shareFrontDesk((opened) => {
  desk = opened;
}, RETRIED_SOON);

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

/** An endpoint that gets its events in order, and whose first delivery is being retried. Later ones wait for it. */
async function anEndpointInOrderThatFails(operator: Operator): Promise<string> {
  const { url } = await desk.aFailingReceiver();
  const { id } = await operator.register({ url, events: ['ticket.created'], ordering: { by: 'endpoint' } });
  await operator.emit(...tickets(1));
  await eventually(async () => {
    expect(await operator.deliveries(id)).toMatchObject([{ status: 'pending', attempts: 2 }]);
  });
  return id;
}

/** Waits until the endpoint has a test, too, whose turn has not come. */
async function testWaits(operator: Operator, id: string): Promise<void> {
  await eventually(async () => {
    const [, test] = await operator.deliveries(id);
    expect(test).toMatchObject({ event: 'test', status: 'pending', attempts: 0 });
  });
}

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

  it('is said to be not sent, if it is a test and its endpoint is paused', async () => {
    const { visitor, operator } = await desk.aDesk();
    const id = await anEndpointInOrderThatFails(operator);
    await visitor.open(`/endpoints/${id}`);
    await visitor.button('Send test').click();
    await visitor.see('Waiting for your endpoint to answer');
    await testWaits(operator, id);
    await visitor.choose('Pause');
    await visitor.see('The test was not sent');
    await visitor.see('Endpoint disabled. See the delivery');
    expect(await visitor.page.getByText('Waiting for').count()).toBe(0);
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
    await visitor.see(
      'If it fails, nothing is recovered, and the endpoint is paused again. It gets new events until then.',
    );
    await visitor.button('Enable and recover 2').click();
    await visitor.see('The test failed, so nothing was recovered');
    await visitor.see('The endpoint is not active, and gets nothing.');
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

  it('does not wait for a test that ended with its endpoint', async () => {
    const { visitor, operator } = await desk.aDesk();
    const { page } = visitor;
    await operator.emit(...tickets(2));
    await eventually(async () => {
      expect(await operator.api.feed()).toHaveLength(2);
    });
    const id = await anEndpointInOrderThatFails(operator);
    await visitor.open(`/endpoints/${id}`);
    await visitor.choose('Recover deliveries …');
    await page.getByRole('checkbox', { name: 'Events that were never sent' }).check();
    await visitor.button('Recover 2').click();
    await visitor.see('Testing …');
    await testWaits(operator, id);
    await operator.change(id, { is_active: false });
    await visitor.see('The test failed, so nothing was recovered');
    await visitor.see('Endpoint disabled. The endpoint is not active, and gets nothing.');
    expect(await operator.recoveries(id)).toEqual([]);
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
    await page.getByLabel(/^Until \(/).fill('');
    await visitor.button('Recover 2').click();
    await visitor.see('2 of 2 scheduled, none waiting.');
    await page.getByText('Recovery ended').waitFor();
  });

  it('names the zone of the times that are chosen, in summer as in winter', async () => {
    const { visitor, operator } = await desk.aDesk({ timeZone: 'Europe/Berlin' });
    const { page } = visitor;
    const { id } = await operator.register({ url: (await desk.suite.aReceiver()).url, events: ['ticket.created'] });
    await visitor.open(`/endpoints/${id}`);
    await visitor.choose('Recover deliveries …');
    await page.getByRole('radio', { name: 'Between two times' }).check();
    await page.getByLabel(/^From \(/).fill('2026-01-15T12:00');
    await page.getByLabel('Until (optional)').fill('2026-07-15T12:00');
    expect(await page.getByLabel('From (GMT+1)').inputValue()).toBe('2026-01-15T12:00');
    expect(await page.getByLabel('Until (GMT+2)').inputValue()).toBe('2026-07-15T12:00');
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

  it('a page says nothing if only the stream of changes is refused', async () => {
    const { visitor } = await desk.aDesk();
    const staysQuiet = await breakStream(visitor.page, { status: 429, json: {} });
    await visitor.open('/catalog');
    await visitor.heading('Event catalog').waitFor();
    await staysQuiet();
    expect(visitor.complaints.splice(0).filter((text) => !text.includes('429'))).toEqual([]);
  });

  it('a page asks again for all that has failed once it is connected, whatever is answered first', async () => {
    const { apiKey } = await desk.aDesk();
    const proxy = desk.suite.closing(await aTcpProxy(desk.suite.app.url));
    await proxy.open();
    const visitor = await desk.aVisitor({}, proxy.url);
    const { page } = visitor;
    await visitor.bringSession(apiKey);
    const loaded = page.waitForResponse('**/dashboard/organization');
    await visitor.open('/endpoints');
    await visitor.heading('Endpoints').waitFor();
    await (await loaded).finished();
    let failures = 0;
    page.on('requestfailed', (request) => {
      if (request.url().endsWith('/dashboard/organization')) failures++;
    });

    await proxy.close();
    await visitor.see(/Not updated since \d/);
    // The page gives up a request after three attempts.
    await eventually(() => {
      expect(failures).toBeGreaterThanOrEqual(3);
    });
    await proxy.open();
    // What the browser reports when it is online again: pages then ask for what changes, and for nothing else.
    await page.evaluate("dispatchEvent(new Event('online'))");
    await page.getByText(/not updated since/i).waitFor({ state: 'detached' });
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
