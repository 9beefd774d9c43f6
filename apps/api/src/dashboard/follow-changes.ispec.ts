import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { OrgId, Seq } from '#libs/domain';
import type { GaplessApp } from '#libs/platform';
import { FeedProjection, Store } from '#libs/postgres';
import { anApiKey } from '../../../../test/support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../../../test/support/gapless.js';
import { anEventId, anOrgId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { ApiModule } from '../api.module.js';
import { apiHttp } from '../http/api-http.js';

let gapless: GaplessUnderTest;
let app: GaplessApp;
let nextOffset = 0;

beforeAll(async () => {
  gapless = await aGapless();
  app = await gapless.start([ApiModule], { http: apiHttp });
});

afterAll(async () => {
  await gapless.stop();
});

async function project(orgId: OrgId, seq: number): Promise<void> {
  const offset = nextOffset++;
  const event = { offset, orgId, seq: seq as Seq, id: anEventId(), event: 'ticket.created', widgetId: null };
  await new FeedProjection(app.app.get(Store)).apply(
    { projection: 'feed', topic: 'log', partition: 0, firstOffset: offset, nextOffset },
    [{ ...event, appendedAtMs: Date.now(), envelope: Buffer.from(`{"seq":${seq}}`) }],
  );
}

it('reports a head that moves right after the one before', async () => {
  const orgId = anOrgId();
  const signedIn = await fetch(`${app.url}/api/v1/dashboard/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: await anApiKey(app.app.get(Store), orgId) }),
  });
  const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';', 1)[0]!;
  const ending = new AbortController();
  const changes = await fetch(`${app.url}/api/v1/dashboard/changes`, { headers: { cookie }, signal: ending.signal });
  let text = '';
  const reading = (async () => {
    for await (const chunk of changes.body as unknown as AsyncIterable<Uint8Array>)
      text += Buffer.from(chunk).toString();
  })().catch(() => undefined);
  await eventually(() => {
    expect(text).toContain('retry:');
  });

  await project(orgId, 1);
  await eventually(() => {
    expect(text).toContain('event: head\ndata: 1\n');
  });
  await project(orgId, 2);
  await eventually(() => {
    expect(text).toContain('event: head\ndata: 2\n');
  });
  ending.abort();
  await reading;
});
