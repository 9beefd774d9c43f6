import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import { FeedClient, readFeed } from '#libs/consumer';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { oneTo } from '../../support/sequence.js';
import { API_HTTP } from '../../support/stages.js';
import { ApiSuite, posting, withJson } from './support/api-suite.js';

const CURSORS = '/api/v1/external/cursors';
const FEED = '/api/v1/external/events';

let suite: ApiSuite;

beforeAll(async () => {
  suite = await ApiSuite.start({ MAX_CURSORS_PER_ORG: '3' });
});

afterAll(async () => {
  await suite.stop();
});

interface Cursor {
  readonly name: string;
  readonly seq: number;
  readonly behind: number;
  readonly lost: number;
}

/** An org with so many events in its feed. */
async function anOrg(events: number): Promise<{ readonly orgId: OrgId; readonly key: string }> {
  const orgId = anOrgId();
  const key = await suite.aKey(orgId);
  if (events > 0) {
    const body = { events: oneTo(events).map((n) => ({ event: 'ticket.created', data: { n } })) };
    await suite.data({ key, ...posting('/api/v1/internal/events', body) }, 202);
    await eventually(async () => {
      expect((await suite.ask({ key, method: 'GET', path: FEED })).headers['x-head-sequence']).toBe(String(events));
    });
  }
  return { orgId, key };
}

const put = (key: string, name: string, body: object) => ({
  key,
  ...withJson({ method: 'PUT', path: `${CURSORS}/${name}` }, body),
});
const get = (key: string, path: string) => ({ key, method: 'GET', path });

describe('a cursor (contract 5.8)', () => {
  it('stores a position, shows its distance from the head, and is deleted', async () => {
    const { key } = await anOrg(5);
    expect(await suite.refusal(get(key, `${CURSORS}/billing`))).toMatchObject({ code: 'not_found' });
    const cursor = await suite.data<Cursor>(put(key, 'billing', { seq: 2 }), 200);
    expect(cursor).toMatchObject({ name: 'billing', seq: 2, behind: 3, lost: 0 });
    expect(await suite.data(get(key, `${CURSORS}/billing`), 200)).toEqual(cursor);
    await suite.data(put(key, 'alerts', { seq: 5 }), 200);
    expect(await suite.data<Cursor[]>(get(key, CURSORS), 200)).toMatchObject([
      { name: 'alerts', seq: 5, behind: 0 },
      { name: 'billing', seq: 2, behind: 3 },
    ]);
    expect((await suite.ask({ key, method: 'DELETE', path: `${CURSORS}/billing` })).status).toBe(204);
    expect(await suite.refusal({ key, method: 'DELETE', path: `${CURSORS}/billing` })).toMatchObject({ status: 404 });
  });

  it('only moves forward, unless its position is expected', async () => {
    const { key } = await anOrg(0);
    await suite.data(put(key, 'billing', { seq: 9 }), 200);
    expect(await suite.data(put(key, 'billing', { seq: 4 }), 200)).toMatchObject({ seq: 9 });
    expect(await suite.refusal(put(key, 'billing', { seq: 4, expected_seq: 8 }))).toMatchObject({
      status: 409,
      code: 'cursor_conflict',
      detail: 'The cursor is at 9.',
    });
    expect(await suite.data(put(key, 'billing', { seq: 4, expected_seq: 9 }), 200)).toMatchObject({ seq: 4 });
    expect(await suite.refusal(put(key, 'billing', { seq: 4, expected_seq: null }))).toMatchObject({ status: 409 });
    expect(await suite.refusal(put(key, 'other', { seq: 4, expected_seq: 3 }))).toMatchObject({
      detail: 'The cursor does not exist.',
    });
  });

  it.each([
    ['a space', 'a%20b'],
    ['a slash', 'a%2Fb'],
    ['65 characters', 'a'.repeat(65)],
    ['a dot at its beginning', '.a'],
  ])('is not created with a name that has %s', async (_, name) => {
    const { key } = await anOrg(0);
    expect(await suite.refusal(put(key, name, { seq: 1 }))).toMatchObject({ status: 422, code: 'validation_failed' });
  });

  it.each([[{}], [{ seq: -1 }], [{ seq: 1.5 }], [{ seq: '1' }], [{ seq: 2 ** 53 }], [{ seq: 1, since: 1 }]])(
    'is not moved by %j',
    async (body) => {
      const { key } = await anOrg(0);
      expect(await suite.refusal(put(key, 'billing', body))).toMatchObject({ status: 422, code: 'validation_failed' });
    },
  );

  it('is one of a limited number', async () => {
    const { key } = await anOrg(0);
    for (const name of ['a', 'b', 'c']) await suite.data(put(key, name, { seq: 1 }), 200);
    expect(await suite.refusal(put(key, 'd', { seq: 1 }))).toMatchObject({ status: 409, code: 'cursor_limit_reached' });
    await suite.data(put(key, 'a', { seq: 2 }), 200);
  });
});

describe('the changes of an organization (contract 9)', () => {
  it('are cursors that are created or moved back, and none that are moved forward', async () => {
    const limited = await suite.gapless.start([ApiModule], { http: API_HTTP, env: { RATE_LIMIT_CHANGES: '1/s' } });
    const { key } = await anOrg(0);
    const move = (seq: number, expected_seq?: number) =>
      fetch(`${limited.url}${CURSORS}/billing`, {
        method: 'PUT',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ seq, expected_seq }),
      });
    const forward = async () => {
      // A busy machine answers no more of one organization at once within its patience.
      for (let behind = 0; behind < 200; behind += 10) {
        const answers = await Promise.all(oneTo(10).map((n) => move(behind + n)));
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      }
    };
    expect((await move(0)).status).toBe(200);
    await forward();
    // An organization may make 20 changes at once. One a second more than these may have become possible meanwhile.
    let seq = 200;
    let answer = await move(seq - 1, seq);
    while (answer.status === 200) {
      seq--;
      answer = await move(seq - 1, seq);
    }
    expect(200 - seq).toBeGreaterThanOrEqual(19);
    expect([answer.status, answer.headers.get('ratelimit')]).toEqual([
      429,
      expect.stringMatching(/^"changes";r=0;t=\d+$/),
    ]);
    await forward();
    expect(await suite.data(get(key, `${CURSORS}/billing`), 200)).toMatchObject({ seq: 200 });
    await limited.stop();
  });
});

describe('the feed from a cursor (contract 5.4)', () => {
  const seqsOf = (text: string) => (JSON.parse(text) as { data: { seq: number }[] }).data.map(({ seq }) => seq);

  it('begins after its position, and leaves it where it is', async () => {
    const { key } = await anOrg(4);
    await suite.data(put(key, 'billing', { seq: 2 }), 200);
    for (let again = 0; again < 2; again++) {
      expect(seqsOf((await suite.ask(get(key, `${FEED}?cursor=billing`))).text)).toEqual([3, 4]);
    }
    const streamed = await fetch(`${suite.app.url}${FEED}?cursor=billing`, {
      headers: { 'x-api-key': key, accept: 'text/event-stream' },
    });
    const reader = streamed.body!.getReader();
    let text = '';
    while (!text.includes('id: 4')) text += Buffer.from((await reader.read()).value ?? []).toString();
    expect(text).not.toContain('id: 2\nevent: ');
    await reader.cancel();
  });

  it('is refused for a cursor that does not exist, or that is of another organization', async () => {
    const { key } = await anOrg(1);
    const stranger = await anOrg(0);
    await suite.data(put(stranger.key, 'billing', { seq: 0 }), 200);
    expect(await suite.refusal(get(key, `${FEED}?cursor=billing`))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await suite.refusal(get(key, `${FEED}?cursor=a%20b`))).toMatchObject({ status: 400 });
    expect(await suite.refusal(get(stranger.key, `${FEED}?cursor=billing&since=0`))).toMatchObject({ status: 422 });
  });

  it('is read by the consumer library, whose next process continues', async () => {
    const { key } = await anOrg(5);
    const feed = new FeedClient({ baseUrl: suite.app.url, apiKey: key });
    const read: number[] = [];
    for await (const events of readFeed({ feed, cursor: feed.cursor('billing'), batchSize: 2, follow: false })) {
      read.push(...events.map(({ seq }) => seq));
      // The second batch is not finished.
      if (read.length === 4) break;
    }
    for await (const events of readFeed({ feed, cursor: feed.cursor('billing'), batchSize: 10, follow: false })) {
      read.push(...events.map(({ seq }) => seq));
    }
    expect(read).toEqual([1, 2, 3, 4, 3, 4, 5]);
    expect(await suite.data<Cursor>(get(key, `${CURSORS}/billing`), 200)).toMatchObject({ seq: 5, behind: 0 });
  });
});

describe('the answers of this suite', () => {
  it('have the statuses and the bodies that the OpenAPI document declares', () => {
    expect(suite.described.faults).toEqual([]);
  });
});
