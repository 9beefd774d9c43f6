import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OrgId, Seq } from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { FeedMove } from './feed-move.js';

let store: Store;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(async () => {
  await drop();
});

describe('the heads of a database that has got another part of the feed', () => {
  it('are those of its own orgs, as far as the log or its checkpoints went', async () => {
    const [left, silent, unknown, ahead] = [anOrgId(), anOrgId(), anOrgId(), anOrgId()];
    const before: readonly (readonly [OrgId, number])[] = [
      [left, 3],
      [silent, 5],
      [ahead, 8],
    ];
    for (const row of before) await store.query('insert into org_heads (org_id, last_seq) values ($1, $2)', row);
    const lastSeqs = new Map([
      [left, 4 as Seq],
      [silent, 9 as Seq],
      [unknown, 2 as Seq],
      [ahead, 7 as Seq],
    ]);
    await new FeedMove(store).settleHeads((orgId) => orgId !== left, lastSeqs);
    const rows = await store.query<{ org_id: OrgId; last_seq: string }>('select org_id, last_seq from org_heads');
    expect(new Map(rows.map((row) => [row.org_id, Number(row.last_seq)]))).toEqual(
      new Map([
        [silent, 9],
        [unknown, 2],
        [ahead, 8],
      ]),
    );
  });
});
