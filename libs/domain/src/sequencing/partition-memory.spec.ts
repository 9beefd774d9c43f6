import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { heldBytes } from '../../../../test/support/held-bytes.js';
import type { EventId, OrgId } from '../kernel/index.js';
import { ID_SEGMENT_MS, ID_SEGMENTS } from './id-window.js';
import { PartitionFold } from './partition-fold.js';

const ORGS = 20_000;
const MIB = 1024 * 1024;

/** As it comes: a part of the text of a whole record, which must not stay in memory with it. */
function anOrgId(): OrgId {
  return `{"org_id":"${randomUUID()}","data":"${'x'.repeat(900)}"}`.slice(11, 47) as OrgId;
}

/** A fold whose orgs have each had so many events, a few seconds apart. */
function aFold(orgs: readonly OrgId[], eventsEach: number): PartitionFold {
  const fold = new PartitionFold();
  let offset = 0;
  for (let event = 0; event < eventsEach; event++) {
    for (const orgId of orgs) {
      fold.append({ orgId, id: `evt_${offset}` as EventId, inboxMs: event * 1_000 }, offset);
      offset++;
    }
  }
  return fold;
}

/** Ids of a checkpoint are not kept for the next one. */
function checkpoint(fold: PartitionFold): void {
  fold.sequences.takeChanged();
  fold.ids.takeAdded();
}

describe('the memory of a sequencer', () => {
  it('has at most 200 bytes for an org whose events are over', async () => {
    const bytes = await heldBytes(() => {
      const fold = aFold(Array.from({ length: ORGS }, anOrgId), 1);
      checkpoint(fold);
      // One event of one org, after the window of all others.
      const late = ID_SEGMENTS * ID_SEGMENT_MS + 60_000;
      fold.append({ orgId: anOrgId(), id: 'evt_late' as EventId, inboxMs: late }, ORGS);
      checkpoint(fold);
      expect(fold.ids.size).toBe(1);
      return fold;
    });
    // What was there before may be collected meanwhile, so this is less than they hold.
    expect(bytes / ORGS).toBeGreaterThan(10);
    expect(bytes / ORGS).toBeLessThanOrEqual(200);
  });

  it('would stay under 100 MiB for 100,000 orgs with 10 events each in the window, a third of what a process may have', async () => {
    const bytes = await heldBytes(() => {
      const fold = aFold(Array.from({ length: ORGS }, anOrgId), 10);
      checkpoint(fold);
      expect(fold.ids.size).toBe(10 * ORGS);
      return fold;
    });
    expect(bytes / ORGS).toBeLessThan((100 * MIB) / 100_000);
  });
});
