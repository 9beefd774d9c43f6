import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OrgId, Seq } from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { AuditLog } from '../access/audit-log.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { FeedCursors } from './feed-cursors.js';

const AT = new Date('2026-03-02T09:12:44.000Z');
const LATER = new Date('2026-03-02T09:13:00.000Z');

describe('the cursors of an org', () => {
  let store: Store;
  let drop: () => Promise<void>;
  let cursors: FeedCursors;

  beforeAll(async () => {
    ({ store, drop } = await aTestStore());
    cursors = new FeedCursors(store);
  });

  afterAll(async () => {
    await drop();
  });

  function move(orgId: OrgId, seq: number, expected?: number | null, { name = 'billing', at = AT, limit = 3 } = {}) {
    return cursors.move(orgId, { name, seq: seq as Seq, expected: expected as Seq | null | undefined, at, limit });
  }

  const positions = async (orgId: OrgId) =>
    (await cursors.list(orgId, 100)).map(({ name, seq }) => [name, seq] as const);

  it('are created by the first move, and listed by name', async () => {
    const orgId = anOrgId();
    expect(await cursors.read(orgId, 'billing')).toBeUndefined();
    const cursor = { name: 'billing', seq: 7, createdAt: AT, movedAt: AT };
    expect(await move(orgId, 7)).toEqual({ kind: 'set', cursor });
    expect(await cursors.read(orgId, 'billing')).toEqual(cursor);
    await move(orgId, 2, undefined, { name: 'alerts' });
    expect(await positions(orgId)).toEqual([
      ['alerts', 2],
      ['billing', 7],
    ]);
    expect(await positions(anOrgId())).toEqual([]);
  });

  it('only move forward when no position is expected', async () => {
    const orgId = anOrgId();
    await move(orgId, 7);
    expect(await move(orgId, 5, undefined, { at: LATER })).toMatchObject({ cursor: { seq: 7, movedAt: AT } });
    expect(await move(orgId, 9, undefined, { at: LATER })).toMatchObject({ cursor: { seq: 9, movedAt: LATER } });
  });

  it('move anywhere from the expected position, and only from there', async () => {
    const orgId = anOrgId();
    expect(await move(orgId, 7, 0)).toEqual({ kind: 'conflict', seq: null });
    expect(await move(orgId, 7, null)).toMatchObject({ kind: 'set' });
    expect(await move(orgId, 8, null)).toEqual({ kind: 'conflict', seq: 7 });
    expect(await move(orgId, 8, 6)).toEqual({ kind: 'conflict', seq: 7 });
    expect(await move(orgId, 3, 7)).toMatchObject({ kind: 'set', cursor: { seq: 3 } });
    expect(await positions(orgId)).toEqual([['billing', 3]]);
  });

  it('let one of several that expect the same position succeed', async () => {
    const orgId = anOrgId();
    const created = await Promise.all(oneTo(5).map((seq) => move(orgId, seq, null)));
    expect(created.filter(({ kind }) => kind === 'set')).toHaveLength(1);
    const [[, seq] = ['', 0]] = await positions(orgId);
    const moved = await Promise.all(oneTo(5).map((step) => move(orgId, seq + step, seq)));
    expect(moved.filter(({ kind }) => kind === 'set')).toHaveLength(1);
  });

  it('are limited in number, also when they are created at the same time', async () => {
    const orgId = anOrgId();
    const moved = await Promise.all(oneTo(8).map((n) => move(orgId, 1, undefined, { name: `reader-${n}` })));
    expect(moved.filter(({ kind }) => kind === 'set')).toHaveLength(3);
    expect(moved.filter(({ kind }) => kind === 'limit_reached')).toHaveLength(5);
    const [[name] = ['']] = await positions(orgId);
    expect(await move(orgId, 2, undefined, { name })).toMatchObject({ kind: 'set' });
    expect(await cursors.delete(orgId, name)).toBe(true);
    expect(await move(orgId, 1, undefined, { name: 'another' })).toMatchObject({ kind: 'set' });
  });

  it('of the same name belong to each org alone', async () => {
    const [orgA, orgB] = [anOrgId(), anOrgId()];
    await move(orgA, 7);
    await move(orgB, 2);
    expect(await cursors.delete(orgB, 'billing')).toBe(true);
    expect(await cursors.delete(orgB, 'billing')).toBe(false);
    expect(await positions(orgA)).toEqual([['billing', 7]]);
  });

  it('ask before they are created or moved back, and stay as they are if that is refused', async () => {
    const orgId = anOrgId();
    let asked = 0;
    const refused = new Error('too many changes');
    let logs = (): Promise<void> => Promise.reject(refused);
    const asks = (seq: number, expected?: number | null) =>
      cursors.move(
        orgId,
        { name: 'billing', seq: seq as Seq, expected: expected as Seq | null | undefined, at: AT, limit: 1 },
        () => {
          asked++;
          return logs();
        },
      );
    await expect(asks(5)).rejects.toBe(refused);
    expect(await positions(orgId)).toEqual([]);
    logs = () => Promise.resolve();
    await asks(5);
    logs = () => Promise.reject(refused);
    await expect(asks(4, 5)).rejects.toBe(refused);
    expect([asked, await positions(orgId)]).toEqual([3, [['billing', 5]]]);
    // Nothing of this adds to the audit log.
    for (const seq of [6, 7, 7, 3]) await asks(seq);
    expect(await asks(2, 5)).toMatchObject({ kind: 'conflict' });
    expect([asked, await positions(orgId)]).toEqual([3, [['billing', 7]]]);
  });

  it('are in the audit log when they are created, moved back and deleted, but not with each move', async () => {
    const orgId = anOrgId();
    for (const seq of [1, 2, 3]) await move(orgId, seq);
    await move(orgId, 1, 3);
    await cursors.delete(orgId, 'billing');
    const entries = (await new AuditLog(store).list(orgId, { limit: 10 })).toReversed();
    expect(entries.map(({ action, target, details }) => [action, target, details])).toEqual([
      ['cursor.created', 'billing', { seq: 1 }],
      ['cursor.moved_back', 'billing', { from: 3, to: 1 }],
      ['cursor.deleted', 'billing', { seq: 1 }],
    ]);
  });
});
