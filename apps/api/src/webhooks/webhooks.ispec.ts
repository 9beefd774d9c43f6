import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { ApiKeyId, OrgId } from '#libs/domain';
import { Appender } from '#libs/kafka-log';
import { ApiKeyRecords, parseApiKey, Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { ApiClient, type Webhook } from '../../../../test/support/api-client.js';
import { anApiKey } from '../../../../test/support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../../../test/support/gapless.js';
import { anOrgId, aWidgetId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { ApiModule } from '../api.module.js';
import { apiHttp } from '../http/api-http.js';

const HOOK = { url: 'http://127.0.0.1:9009/hook', events: ['ticket.created'] };

describe('webhook endpoints over HTTP', () => {
  let gapless: GaplessUnderTest;
  let app: GaplessApp;

  beforeAll(async () => {
    gapless = await aGapless({ MAX_ENDPOINTS_PER_ORG: '3' });
    app = await gapless.start([ApiModule], { http: apiHttp });
  });

  afterAll(async () => {
    await gapless.stop();
  });

  async function anOrg(orgId: OrgId = anOrgId(), at = app): Promise<ApiClient> {
    return new ApiClient(at.url, await anApiKey(app.app.get(Store), orgId));
  }

  async function refusal(org: ApiClient, body: unknown) {
    const { status, text } = await org.request('POST', '/external/webhooks', JSON.stringify(body));
    const { code, errors } = JSON.parse(text) as { code: string; errors?: readonly { pointer: string }[] };
    return { status, code, pointers: errors?.map(({ pointer }) => pointer) };
  }

  it('are created active, with all members of contract 3.1 and a secret', async () => {
    const widgetId = aWidgetId();
    const org = await anOrg();
    const created = await org.createWebhook({ ...HOOK, name: 'Night shift', widget_ids: [widgetId] });
    expect(created).toEqual({
      id: expect.stringMatching(/^whe_[0-9A-HJKMNP-TV-Z]{26}$/) as unknown,
      name: 'Night shift',
      description: null,
      ...HOOK,
      widget_ids: [widgetId],
      is_active: true,
      failure_count: 0,
      last_triggered_at: null,
      header_names: [],
      auth_type: null,
      oauth2: null,
      client_certificate: null,
      legacy_signature: true,
      signatures: ['hmac'],
      respect_retry_after: false,
      disable_on_gone: false,
      filter: null,
      max_per_second: null,
      max_in_flight: null,
      ordering: { by: 'none', batch: 1 },
      urgent: null,
      previous_sequence: false,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as unknown,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
    });
  });

  it('never show their secret again, and keep it encrypted', async () => {
    const org = await anOrg();
    const { id, secret } = await org.createWebhook(HOOK);
    for (const path of ['/external/webhooks', `/external/webhooks/${id}`]) {
      const { text } = await org.request('GET', path);
      expect(text).toContain(id);
      expect(text).not.toContain('whsec_');
    }
    const [row] = await app.app
      .get(Store)
      .query<{ stored: string }>('select endpoints::text as stored from endpoints where id = $1', [id]);
    expect(row!.stored).not.toContain(Buffer.from(secret).toString('hex'));
    expect(row!.stored).not.toContain(secret);
  });

  it('are listed oldest first', async () => {
    const org = await anOrg();
    const made = [await org.createWebhook(HOOK), await org.createWebhook(HOOK)];
    const { data } = JSON.parse((await org.request('GET', '/external/webhooks')).text) as { data: Webhook[] };
    expect(data.map(({ id }) => id)).toEqual(made.map(({ id }) => id));
  });

  it('show their health one by one (contract 3.1)', async () => {
    const org = await anOrg();
    const { id } = await org.createWebhook(HOOK);
    expect(await org.webhook(id)).toMatchObject({
      id,
      health: {
        status: 'never_tried',
        recent_deliveries: 0,
        recent_failed: 0,
        delivered_24h: 0,
        failed_attempts_24h: 0,
        pending: 0,
        oldest_pending_at: null,
        last_success_at: null,
        last_failure_at: null,
        last_error: null,
        p50_ms: null,
        p95_ms: null,
        disabled_at: null,
        disabled_reason: null,
      },
    });
  });

  it('are gone once deleted', async () => {
    const org = await anOrg();
    const { id } = await org.createWebhook(HOOK);
    const path = `/external/webhooks/${id}`;
    expect(await org.request('DELETE', path)).toMatchObject({ status: 204, text: '' });
    expect((await org.request('GET', path)).status).toBe(404);
    expect((await org.request('DELETE', path)).status).toBe(404);
  });

  it('keep their url if the key of the change is revoked before it is made', async () => {
    const store = app.app.get(Store);
    const orgId = anOrgId();
    const [owner, key] = [await anOrg(orgId), await anApiKey(store, orgId)];
    const { id } = await owner.createWebhook(HOOK);
    const body = JSON.stringify({ url: 'http://127.0.0.1:9010/other' });
    const [changes] = await store.transaction(async (runner) => {
      await runner.query('select 1 from endpoints where id = $1 for update', [id]);
      const waits = new ApiClient(app.url, key).request('PATCH', `/external/webhooks/${id}`, body);
      await eventually(async () => {
        const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        expect(await store.query(waiting)).toHaveLength(1);
      });
      await new ApiKeyRecords(store).revoke(parseApiKey(key)?.id as ApiKeyId, new Date());
      return [waits];
    });
    expect(await changes).toMatchObject({ status: 401 });
    expect(await owner.webhook(id)).toMatchObject({ url: HOOK.url });
  });

  it('are disabled even if nobody knows whether the log has it: it would end their deliveries', async () => {
    const org = await anOrg();
    const { id } = await org.createWebhook(HOOK);
    const appender = app.app.get(Appender);
    const append = appender.append.bind(appender);
    const lost = jest.spyOn(appender, 'append').mockImplementationOnce(async (records) => {
      await append(records);
      throw new Error('the acknowledgement is lost');
    });
    const { status, text } = await org.request('PATCH', `/external/webhooks/${id}`, '{"is_active":false}');
    lost.mockRestore();
    expect([status, (JSON.parse(text) as { detail: string }).detail]).toEqual([
      503,
      expect.stringMatching(/^The endpoint is disabled\./),
    ]);
    expect(await org.webhook(id)).toMatchObject({ is_active: false, health: { disabled_reason: 'operator' } });
  });

  it('of other orgs get the same answer as endpoints that do not exist', async () => {
    const { id } = await (await anOrg()).createWebhook(HOOK);
    const stranger = await anOrg();
    const details = new Set<string>();
    for (const asked of [id, 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG', 'nonsense']) {
      for (const method of ['GET', 'DELETE']) {
        const { status, text } = await stranger.request(method, `/external/webhooks/${asked}`);
        expect(status).toBe(404);
        details.add((JSON.parse(text) as { detail: string }).detail);
      }
    }
    expect(details.size).toBe(1);
    expect((await stranger.request('GET', '/external/webhooks')).text).toBe('{"data":[]}');
  });

  it('are limited in number, also for requests that come at the same time', async () => {
    const org = await anOrg();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => org.request('POST', '/external/webhooks', JSON.stringify(HOOK))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409]);
    expect(await refusal(org, HOOK)).toMatchObject({ status: 409, code: 'endpoint_limit_reached' });
  });

  it('are refused with the pointer of each problem', async () => {
    expect(await refusal(await anOrg(), { events: ['nope'], name: 7, colour: 'red' })).toEqual({
      status: 422,
      code: 'validation_failed',
      pointers: ['#/colour', '#/url', '#/events/0', '#/name'],
    });
  });

  it('accept no parameters where there are none', async () => {
    expect((await (await anOrg()).request('GET', '/external/webhooks?page=2')).status).toBe(422);
  });

  describe('where only the public network is allowed (contract 5.2, 6.5)', () => {
    let strict: GaplessApp;
    beforeAll(async () => {
      const env = {
        ALLOW_HTTP_URLS: 'false',
        ALLOWED_PRIVATE_NETWORKS: '',
        DENIED_NETWORKS: '9.9.9.0/24',
        ALLOWED_PORTS: '443,8000-8999',
      };
      strict = await gapless.start([ApiModule], { http: apiHttp, env });
    });

    it.each([
      ['http://example.com/', 'url_not_https'],
      ['ftp://example.com/', 'url_not_https'],
      ['https://10.0.0.1/', 'url_private_network'],
      ['https://127.0.0.1/', 'url_private_network'],
      ['https://[::ffff:10.0.0.1]/', 'url_private_network'],
      ['https://0x7f000001/', 'url_private_network'],
      ['https://localhost/', 'url_private_network'],
      ['https://printer.local/', 'url_private_network'],
      ['https://168.63.129.16/', 'url_private_network'],
      ['https://9.9.9.9/', 'url_private_network'],
      ['https://8.8.8.8:22/', 'url_invalid'],
      ['https://8.8.8.8:9000/', 'url_invalid'],
      ['https://user:password@example.com/', 'url_invalid'],
      ['https://example.com/#fragment', 'url_invalid'],
      [`https://example.com/${'x'.repeat(2_048)}`, 'url_invalid'],
      ['not a url', 'url_invalid'],
    ])('%s is refused as %s', async (url, code) => {
      const org = await anOrg(anOrgId(), strict);
      expect(await refusal(org, { ...HOOK, url })).toEqual({ status: 422, code, pointers: ['#/url'] });
    });

    it('a public address is accepted with the ports of the setting', async () => {
      const org = await anOrg(anOrgId(), strict);
      for (const url of ['https://8.8.8.8/', 'https://8.8.8.8:8999/']) {
        expect(await org.createWebhook({ ...HOOK, url })).toMatchObject({ url });
      }
    });
  });
});
