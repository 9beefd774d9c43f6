import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../../../test/support/free-port.js';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { serviceSignature, verifySignature } from '../../webhook-signature/src/index.js';
import { explain } from './explain.js';
import { TestMachine } from './testing/a-context.js';
import { anEnvelope, anOrganization, aPage, TestServer } from './testing/a-service.js';

const CATALOG = JSON.stringify({ data: [{ event: 'ticket.created', example: { id: 'tkt_1' } }] });

let machine: TestMachine;
let service: TestServer;
let app: TestServer;

beforeEach(async () => {
  machine = new TestMachine();
  [service, app] = await Promise.all([TestServer.start(), TestServer.start()]);
});

afterEach(() => {
  machine.stop.abort();
  machine.leave();
  service.stop();
  app.stop();
});

function loggedIn(url = service.url, apiKey = 'gk_1_secret'): void {
  machine.environment = { GAPLESS_URL: url, GAPLESS_API_KEY: apiKey };
}

/** A URL at which no one listens. */
async function deadUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

async function failure(run: Promise<void>): Promise<string> {
  return run.then(
    () => 'it succeeded',
    (error: unknown) => explain(error),
  );
}

describe('gapless login', () => {
  const file = () => join(machine.home, '.config/gapless/credentials.json');

  it('checks the key, and stores it where only the user can read it', async () => {
    machine.input = ' gk_1_secret\n';
    service.answer = () => ({ status: 200, body: CATALOG });
    await machine.run('login', '--url', `${service.url}/api/v1/`);
    expect(service.requests).toMatchObject([
      { url: '/api/v1/external/event-types', headers: { 'x-api-key': 'gk_1_secret' } },
    ]);
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual({ url: service.url, api_key: 'gk_1_secret' });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(join(machine.home, '.config/gapless')).mode & 0o777).toBe(0o700);
    await machine.run('logout');
    expect(existsSync(file())).toBe(false);
  });

  it('follows XDG_CONFIG_HOME, and keeps an existing file private', async () => {
    machine.environment = { XDG_CONFIG_HOME: join(machine.home, 'xdg') };
    machine.input = 'gk_1_secret';
    service.answer = () => ({ status: 200, body: CATALOG });
    await machine.run('login', '--url', service.url);
    await machine.run('login', '--url', service.url);
    expect(statSync(join(machine.home, 'xdg/gapless/credentials.json')).mode & 0o777).toBe(0o600);
  });

  it('hides the key that is typed, wherever the output goes', async () => {
    machine.terminals = ['input'];
    machine.input = 'gk_1_secret';
    service.answer = () => ({ status: 200, body: CATALOG });
    await machine.run('login', '--url', service.url);
    expect(machine.asked).toEqual(['API key: ']);
  });

  it('stores no key that is refused', async () => {
    machine.input = 'gk_1_wrong';
    service.answer = () => ({ status: 401, body: '{"code":"invalid_api_key","detail":"no"}' });
    expect(await failure(machine.run('login', '--url', service.url))).toMatch(
      /The API key is not valid.*gapless login/,
    );
    expect(existsSync(file())).toBe(false);
  });

  it.each(['<html>', 'null', '{"data":{}}'])('stores no key for another server that answers %s', async (body) => {
    machine.input = 'gk_1_secret';
    service.answer = () => ({ status: 200, body });
    expect(await failure(machine.run('login', '--url', service.url))).toMatch(/no Gapless at this URL.*Check --url/);
    expect(machine.printed).toEqual([]);
    expect(existsSync(file())).toBe(false);
  });

  it('asks for a URL that is one', async () => {
    expect(await failure(machine.run('login'))).toMatch(/Add --url/);
    expect(await failure(machine.run('login', '--url', 'gapless.example'))).toMatch(/not an http or https URL/);
  });
});

describe('the stored key', () => {
  it('is only sent to the URL that it was stored for', async () => {
    machine.input = 'gk_1_secret';
    service.answer = () => ({ status: 200, body: CATALOG });
    await machine.run('login', '--url', service.url);
    const tail = machine.run('events', 'tail', '--url', app.url, '--no-follow');
    expect(await failure(tail)).toMatch(/no API key for .*gapless login --url/);
    expect(app.requests).toEqual([]);
  });

  it('is missing before the login', async () => {
    expect(await failure(machine.run('events', 'tail'))).toMatch(/Run `gapless login`/);
  });
});

describe('gapless events tail', () => {
  beforeEach(() => {
    loggedIn();
  });

  it('prints each event on a line, or whole as it is stored', async () => {
    service.answer = () => aPage([anEnvelope(1), anEnvelope(2)]);
    await machine.run('events', 'tail', '--from', 'beginning', '--no-follow');
    expect(machine.printed).toEqual([
      '#1  ticket.created  evt_00000000000000000000000001',
      '#2  ticket.created  evt_00000000000000000000000002',
    ]);
    await machine.run('events', 'tail', '--from', 'beginning', '--no-follow', '--json');
    expect(machine.printed.slice(2)).toEqual([anEnvelope(1), anEnvelope(2)]);
  });

  it('prints nothing that controls the terminal', async () => {
    service.answer = () => aPage([anEnvelope(1).replace('evt_0', 'evt_\u009b2J')]);
    await machine.run('events', 'tail', '--from', 'beginning', '--no-follow');
    expect(machine.printed.join('')).not.toContain('\u009b');
  });

  it('prints whole events without what controls a terminal to a terminal alone, wherever the input comes from', async () => {
    const envelope = anEnvelope(1).replace('"t":"', '"t":"\u009b2J');
    service.answer = () => aPage([envelope]);
    const tail = () => machine.run('events', 'tail', '--from', 'beginning', '--no-follow', '--json');
    machine.terminals = ['input'];
    await tail();
    machine.terminals = ['output'];
    await tail();
    expect(machine.printed).toEqual([envelope, envelope.replace('\u009b', '�')]);
  });

  it('ends if Gapless never answers, and reports each try until then', async () => {
    loggedIn(await deadUrl());
    expect(await failure(machine.run('events', 'tail'))).toMatch(/does not answer \(ECONNREFUSED\).*Check the URL/);
    expect(machine.reported).toEqual(
      Array<unknown>(2).fill(expect.stringMatching(/does not answer \(ECONNREFUSED\).*Trying again\.$/)),
    );
  });

  it('ends without an error when it is interrupted while Gapless does not answer', async () => {
    loggedIn(await deadUrl());
    const tailing = machine.run('events', 'tail');
    await eventually(() => {
      expect(machine.reported).toHaveLength(1);
    });
    machine.stop.abort();
    await tailing;
  });

  it('ends at once with --no-follow if the feed ends before --from', async () => {
    service.answer = () => aPage([]);
    expect(await failure(machine.run('events', 'tail', '--from', '4127', '--no-follow'))).toMatch(
      /^The feed ends at #3, so no event is after #4127\./,
    );
  });

  it('says that it waits if the feed ends before --from', async () => {
    service.answer = () => aPage([]);
    const tailing = machine.run('events', 'tail', '--from', '4127');
    await eventually(() => {
      expect(machine.reported).toEqual(['The feed ends at #3. Waiting up to a minute until it reaches #4127.']);
    });
    machine.stop.abort();
    await tailing;
  });

  it('says what to do about a redirect', async () => {
    service.answer = () => ({ status: 308 });
    expect(await failure(machine.run('events', 'tail'))).toMatch(
      /redirect.*use the url that it leads to \(308 unknown\)/,
    );
    expect(service.requests).toHaveLength(1);
  });

  it('suggests types for one that is misspelled', async () => {
    const tail = machine.run('events', 'tail', '--event', 'ticket.create');
    expect(await failure(tail)).toMatch(/There is no event type ticket.create. Did you mean .*ticket.created/);
  });
});

describe('gapless listen', () => {
  let envelopes: string[];

  beforeEach(() => {
    loggedIn();
    envelopes = [1, 2, 3].map((seq) => anEnvelope(seq));
    service.answer = ({ url }) => {
      const since = Number(new URLSearchParams(url.split('?')[1]).get('since'));
      const head = envelopes.length;
      const headers = { 'x-oldest-sequence': String(Math.min(head, 1)), 'x-head-sequence': String(head) };
      return { ...aPage(envelopes.slice(since)), headers };
    };
  });

  const listen = (...args: readonly string[]) => {
    machine.stop = new AbortController();
    return machine.run('listen', '--forward-to', `${app.url.replace('http://', '')}/hooks`, ...args);
  };
  const directory = () => join(machine.home, '.local/state/gapless/listen');
  const secrets = () => machine.reported.filter((line) => line.startsWith('Signing secret: whsec_'));
  const forwarded = () => app.requests.map(({ headers }) => Number(headers['x-service-sequence']));
  const untilForwarded = (count: number) =>
    eventually(() => {
      expect(app.requests.length).toBeGreaterThanOrEqual(count);
    });

  it('forwards the stored bytes, signed as a real push', async () => {
    const listening = listen('--from', 'beginning', '--secret', 'whsec_c2VjcmV0');
    await untilForwarded(3);
    machine.stop.abort();
    await listening;
    expect(app.requests.map(({ body }) => body)).toEqual(envelopes);
    const [{ headers, body, url, method }] = app.requests as [(typeof app.requests)[number]];
    expect([method, url]).toEqual(['POST', '/hooks']);
    const header = headers['x-service-signature'] as string;
    expect(verifySignature({ body, header, secret: 'whsec_c2VjcmV0', now: machine.nowMs })).toMatchObject({
      valid: true,
    });
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': 'ticket.created',
      'x-service-event-id': 'evt_00000000000000000000000001',
      'x-service-attempt': '1',
      'webhook-id': 'evt_00000000000000000000000001',
    });
    expect(headers['x-service-delivery-id']).toMatch(/^whd_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(machine.printed[0]).toMatch(/^#1 {2}ticket.created {2}evt_0+1 {2}✓ 204 {2}\d+ ms$/);
  });

  it('continues where it stopped, with the same generated secret', async () => {
    let listening = listen('--from', 'beginning');
    // With their answers: an event whose answer is on its way comes again.
    await eventually(() => {
      expect(machine.printed).toHaveLength(3);
    });
    machine.stop.abort();
    await listening;
    envelopes.push(anEnvelope(4));
    listening = listen();
    await untilForwarded(4);
    machine.stop.abort();
    await listening;
    expect(forwarded()).toEqual([1, 2, 3, 4]);
    expect(secrets()).toHaveLength(2);
    expect(new Set(secrets()).size).toBe(1);
    expect(machine.reported).toContain('Waiting for events after #3.');
    for (const file of readdirSync(directory())) expect(statSync(join(directory(), file)).mode & 0o777).toBe(0o600);
  });

  it.each([0, 1])(
    'continues with the next key of its organization, and the same secret, after %i events',
    async (before) => {
      const all = envelopes;
      envelopes = all.slice(0, before);
      let listening = listen('--from', 'beginning');
      await eventually(() => {
        expect(machine.printed).toHaveLength(before);
        expect(machine.reported.at(-1)).toMatch(/^Waiting for events/);
      });
      machine.stop.abort();
      await listening;
      envelopes = all;
      loggedIn(service.url, 'gk_2_secret');
      listening = listen();
      await untilForwarded(3);
      machine.stop.abort();
      await listening;
      expect(forwarded()).toEqual([1, 2, 3]);
      expect(secrets()).toHaveLength(2);
      expect(new Set(secrets()).size).toBe(1);
    },
  );

  it('continues where a file that is named by a key says, also with another key', async () => {
    const name = createHash('sha256')
      .update(JSON.stringify([service.url, 'gk_1', 'default']))
      .digest('hex')
      .slice(0, 32);
    mkdirSync(directory(), { recursive: true });
    writeFileSync(join(directory(), `${name}.json`), '{"seq":2,"secret":"whsec_c2VjcmV0"}');
    const all = envelopes;
    envelopes = all.slice(0, 2);
    let listening = listen();
    await eventually(() => {
      expect(machine.reported.at(-1)).toBe('Waiting for events after #2.');
    });
    machine.stop.abort();
    await listening;
    envelopes = all;
    loggedIn(service.url, 'gk_2_secret');
    listening = listen();
    await untilForwarded(1);
    machine.stop.abort();
    await listening;
    expect(forwarded()).toEqual([3]);
    expect(secrets()).toEqual(Array<string>(2).fill('Signing secret: whsec_c2VjcmV0'));
  });

  it('keeps organizations apart', async () => {
    for (const [organization, from] of [
      ['6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001', '1'],
      ['6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a002', '2'],
    ] as const) {
      service.organization = anOrganization(organization);
      const listening = listen('--from', from);
      await eventually(() => {
        expect(machine.reported.at(-1)).toBe(`Waiting for events after #${from}.`);
      });
      machine.stop.abort();
      await listening;
    }
    expect(new Set(secrets()).size).toBe(2);
    expect(readdirSync(directory())).toHaveLength(2);
  });

  it('ends when something else says whose the key is', async () => {
    service.organization = { status: 200, body: '<html>' };
    expect(await failure(listen())).toMatch(/does not say whose the API key is/);
  });

  /** Answers as a feed of 7 … 9, of which retention removes event 7 after so many requests. */
  function aFeedFrom7(removedAfter = Infinity): void {
    let requests = 0;
    service.answer = ({ url }) => {
      const oldest = ++requests > removedAfter ? 8 : 7;
      const since = Number(new URLSearchParams(url.split('?')[1]).get('since'));
      const seqs = [7, 8, 9].filter((seq) => seq > since && seq >= oldest);
      const headers = { 'x-oldest-sequence': String(oldest), 'x-head-sequence': '9' };
      return { ...aPage(seqs.map((seq) => anEnvelope(seq))), headers };
    };
  }

  it.each(['beginning', '0'])('begins at the oldest event with --from %s, and reports none as gone', async (from) => {
    aFeedFrom7();
    const listening = listen('--from', from);
    await untilForwarded(3);
    machine.stop.abort();
    await listening;
    expect(forwarded()).toEqual([7, 8, 9]);
    expect(machine.reported.at(-1)).toBe('Waiting for events after #6.');
  });

  it('reports none as gone if retention removes the oldest event as it begins there', async () => {
    aFeedFrom7(1);
    const listening = listen('--from', 'beginning');
    await untilForwarded(2);
    machine.stop.abort();
    await listening;
    expect(forwarded()).toEqual([8, 9]);
    expect(machine.reported.at(-1)).toBe('Waiting for events after #6.');
  });

  it.each([0, 9])('reports what is gone later from a feed that had %i events which nobody wanted', async (head) => {
    let requests = 0;
    service.answer = () => {
      const isLater = ++requests > 2;
      const bounds = isLater ? [20, 20] : [Math.min(head, 1), head];
      const headers = { 'x-oldest-sequence': String(bounds[0]), 'x-head-sequence': String(bounds[1]) };
      return { ...aPage(isLater ? [anEnvelope(20)] : []), headers };
    };
    const listening = listen('--from', 'beginning', '--events', 'ticket.created');
    await untilForwarded(1);
    machine.stop.abort();
    await listening;
    const lost = 19 - head;
    expect(machine.reported.at(-1)).toMatch(new RegExp(`^Some events are gone, .*: ${lost} lost\\.$`));
  });

  it('reports what is gone after a given position', async () => {
    aFeedFrom7();
    const listening = listen('--from', '3');
    await untilForwarded(3);
    machine.stop.abort();
    await listening;
    expect(machine.reported.at(-1)).toMatch(/^Some events are gone, .*: 3 lost\.$/);
  });

  it('reports that Gapless is away, and goes on when it is back', async () => {
    const page = service.answer;
    let requests = 0;
    const away = { status: 503, body: '{"code":"unavailable","detail":"Kafka is away."}' };
    service.answer = (request) => (++requests === 2 ? away : page(request));
    const listening = listen('--from', 'beginning');
    await untilForwarded(3);
    machine.stop.abort();
    await listening;
    expect(machine.reported).toContain('Kafka is away. (503 unavailable) Trying again.');
    expect(forwarded()).toEqual([1, 2, 3]);
  });

  it('says that it waits if the feed ends before its position', async () => {
    const listening = listen('--from', '4127');
    await eventually(() => {
      expect(machine.reported.at(-1)).toBe('The feed ends at #3. Waiting up to a minute until it reaches #4127.');
    });
    machine.stop.abort();
    await listening;
  });

  it('tries an event again until it is accepted, and sends none before it', async () => {
    let failures = 2;
    app.answer = ({ headers }) => ({ status: headers['x-service-sequence'] === '2' && failures-- > 0 ? 500 : 200 });
    const listening = listen('--from', 'beginning');
    await untilForwarded(5);
    machine.stop.abort();
    await listening;
    expect(forwarded()).toEqual([1, 2, 2, 2, 3]);
    expect(app.requests.map(({ headers }) => headers['x-service-attempt'])).toEqual(['1', '1', '2', '3', '1']);
  });

  it('gives an event up after --max-attempts', async () => {
    app.answer = ({ headers }) => ({ status: headers['x-service-sequence'] === '1' ? 500 : 200 });
    const listening = listen('--from', 'beginning', '--max-attempts', '1');
    await untilForwarded(3);
    machine.stop.abort();
    await listening;
    expect(forwarded()).toEqual([1, 2, 3]);
  });

  it('forwards only the types that were chosen', async () => {
    envelopes = [anEnvelope(1), anEnvelope(2, 'ticket.updated'), anEnvelope(3, 'lead.created')];
    const listening = listen('--from', 'beginning', '--events', 'ticket.created,lead.created');
    await untilForwarded(2);
    machine.stop.abort();
    await listening;
    expect(forwarded()).toEqual([1, 3]);
  });

  it.each(['', ',', ' , '])('refuses --events "%s", and stores no position', async (types) => {
    expect(await failure(listen('--from', 'beginning', '--events', types))).toMatch(/Name an event type/);
    expect([service.requests, existsSync(directory())]).toEqual([[], false]);
  });

  it('ends at once while it waits for the server', async () => {
    app.answer = () => ({ status: 500 });
    const listening = listen('--from', 'beginning');
    await untilForwarded(1);
    machine.stop.abort();
    await listening;
    expect(forwarded()).toEqual([1]);
  });

  it('says so when its state is damaged', async () => {
    const listening = listen('--from', 'beginning');
    await untilForwarded(3);
    machine.stop.abort();
    await listening;
    for (const file of readdirSync(directory())) writeFileSync(join(directory(), file), '{');
    expect(await failure(listen())).toMatch(/is damaged. Delete it/);
  });

  it.each(['ftp://localhost', 'http://'])('does not forward to %s', async (address) => {
    expect(await failure(machine.run('listen', '--forward-to', address))).toMatch(/not an address to forward to/);
  });
});

describe('gapless trigger', () => {
  beforeEach(() => {
    loggedIn();
    service.answer = ({ method, body }) => {
      if (method === 'GET') return { status: 200, body: CATALOG };
      const { events } = JSON.parse(body) as { events: { id: string }[] };
      return { status: 202, body: JSON.stringify({ data: events.map(({ id }) => ({ id })) }) };
    };
  });

  it('emits an event with the example data of its type', async () => {
    await machine.run('trigger', 'ticket.created');
    const emitted = service.requests.find(({ method }) => method === 'POST');
    expect(emitted?.url).toBe('/api/v1/internal/events');
    const { events } = JSON.parse(emitted?.body ?? '') as { events: { id: string }[] };
    expect(events).toMatchObject([{ event: 'ticket.created', widget_id: null, data: { id: 'tkt_1' } }]);
    expect(events[0]?.id).toMatch(/^evt_[0-9A-Za-z]{16,64}$/);
    expect(machine.printed).toEqual([`${events[0]?.id}  ticket.created`]);
  });

  it('takes other data from standard input as it is, and refuses what is no JSON', async () => {
    machine.input = '{"id": 12345678901234567890}\n';
    await machine.run('trigger', 'ticket.created', '--data', '-');
    expect(service.requests.at(-1)?.body).toContain('"data":{"id": 12345678901234567890}');
    machine.input = '{';
    expect(await failure(machine.run('trigger', 'ticket.created', '--data', '-'))).toMatch(
      /Standard input is not JSON/,
    );
  });

  it('prints no id when another server answers', async () => {
    service.answer = ({ method }) => ({ status: 200, body: method === 'GET' ? CATALOG : '<html>' });
    expect(await failure(machine.run('trigger', 'ticket.created'))).toMatch(/check the base url/);
    expect(machine.printed).toEqual([]);
  });

  it('says what to do if the key may not emit', async () => {
    service.answer = ({ method }) =>
      method === 'GET'
        ? { status: 200, body: CATALOG }
        : { status: 403, body: '{"code":"insufficient_scope","detail":"no"}' };
    expect(await failure(machine.run('trigger', 'ticket.created'))).toMatch(
      /lacks the scope events:write.*--forward-to/,
    );
  });

  it('sends the event to a server only', async () => {
    await machine.run('trigger', 'ticket.created', '--forward-to', app.url, '--secret', 'whsec_c2VjcmV0');
    const [{ body, headers }] = app.requests as [(typeof app.requests)[number]];
    const header = headers['x-service-signature'] as string;
    expect(verifySignature({ body, header, secret: 'whsec_c2VjcmV0', now: machine.nowMs })).toMatchObject({
      valid: true,
    });
    expect(JSON.parse(body)).toMatchObject({ event: 'ticket.created', data: { id: 'tkt_1' } });
    expect(service.requests.map(({ method }) => method)).toEqual(['GET']);
    app.answer = () => ({ status: 500 });
    const failing = machine.run('trigger', 'ticket.created', '--forward-to', app.url, '--secret', 'whsec_c2VjcmV0');
    expect(await failure(failing)).toMatch(/did not accept the event: 500/);
  });
});

describe('gapless verify-signature', () => {
  const secret = 'whsec_c2VjcmV0';
  const header = (seconds = 1_772_442_764) => serviceSignature(secret, seconds, Buffer.from('{"a": 1.0}'));

  beforeEach(() => {
    machine.input = '{"a": 1.0}';
  });

  it('accepts a signature of these bytes', async () => {
    await machine.run('verify-signature', '--secret', secret, '--header', header());
    expect(machine.printed).toEqual(['The signature is valid. It was made at 2026-03-02T09:12:44.000Z.']);
  });

  it.each([
    ['mismatch', 'whsec_b3RoZXI=', header(), /Pass the raw bytes/],
    ['expired', secret, header(1_700_000_000), /too old.*--tolerance/],
    ['expired', secret, header(1_772_443_364), /from 600 s in the future: the clock of this machine is behind/],
    ['malformed', secret, 't=1', /t=<unix seconds>,v1=<hex>/],
    ['missing', secret, '', /X-Service-Signature/],
  ])('explains %s', async (reason, with_, value, advice) => {
    const message = await failure(machine.run('verify-signature', '--secret', with_, '--header', value));
    expect(message).toContain(`The signature is not valid (${reason}).`);
    expect(message).toMatch(advice);
  });
});

describe('every command', () => {
  it.each([[], ['login'], ['logout'], ['listen'], ['trigger'], ['events'], ['events', 'tail'], ['verify-signature']])(
    'has --help: gapless %s %s',
    async (...command) => {
      await failure(machine.run(...command.filter((word) => typeof word === 'string'), '--help'));
      expect(machine.printed.join('')).toMatch(/^Usage: gapless/);
    },
  );
});
