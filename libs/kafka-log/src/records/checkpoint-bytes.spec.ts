import { expect, it } from '@jest/globals';
import { envelopeBytes, parseOrgId, PartitionFold, type EventId, type OrgId } from '#libs/domain';
import { recordBytes } from './record.js';
import { checkpointBatches } from './checkpoint-records.js';
import { logRecord } from './log-records.js';

/** As the sequencer does it: after 30 s, or after so many records. */
const EVERY_MS = 30_000;
const EVERY_RECORDS = 5_000;

function anOrg(n: number): OrgId {
  return parseOrgId(`${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`)!;
}

/** Bytes of checkpoints for a byte of the log, when every org has an event without data each second. */
function snapshotShare(orgs: number, seconds: number): number {
  const fold = new PartitionFold();
  const keys = new Map<string, number>();
  let [logBytes, snapshotBytes, offset, checkpointed, checkpointedMs] = [0, 0, 0, 0, 0];
  const checkpoint = (nowMs: number) => {
    const { ids } = fold;
    const overIds = [...keys].filter(([, beginMs]) => ids.isOver(beginMs)).map(([key]) => key);
    const place = { logOffset: offset, inboxOffset: offset, clockMs: ids.clockMs };
    const { batches, idsKeys } = checkpointBatches(
      { lastSeqs: fold.sequences.takeChanged(), ids: ids.takeAdded(), overIds },
      { before: place, now: place },
    );
    for (const key of overIds) keys.delete(key);
    for (const [key, beginMs] of idsKeys) keys.set(key, beginMs);
    for (const record of batches.flat()) snapshotBytes += recordBytes(record) + Buffer.byteLength(record.key ?? '');
    [checkpointed, checkpointedMs] = [offset, nowMs];
  };
  for (let nowMs = 0; nowMs < seconds * 1_000; nowMs += 1_000) {
    for (let org = 0; org < orgs; org++) {
      const [orgId, id] = [anOrg(org), `evt_${String(offset).padStart(26, '0')}` as EventId];
      const appending = fold.append({ orgId, id, inboxMs: nowMs }, offset);
      if (appending.kind === 'repeat') throw new Error('no id comes twice');
      const event = 'ticket.created';
      const occurredAt = '2026-11-22T18:00:00.000Z';
      const envelope = envelopeBytes({
        id,
        event,
        occurredAt,
        orgId,
        widgetId: null,
        dataJson: '{}',
        seq: appending.seq,
      });
      const of = {
        orgId,
        seq: appending.seq,
        id,
        event,
        widgetId: null,
        targetEndpoint: null,
        traceparent: null,
        envelope,
      };
      const record = logRecord(of, { occurredAt, inboxOffset: offset, inboxTimeMs: nowMs });
      logBytes += recordBytes(record) + orgId.length;
      offset++;
      if (offset - checkpointed >= EVERY_RECORDS) checkpoint(nowMs);
    }
    if (nowMs - checkpointedMs >= EVERY_MS) checkpoint(nowMs);
  }
  return snapshotBytes / logBytes;
}

it.each([
  [1, 1_800],
  [100, 300],
  [2_000, 15],
  [20_000, 2],
])('checkpoints of %i orgs with an event a second are fewer bytes than their events', (orgs, seconds) => {
  expect(snapshotShare(orgs, seconds)).toBeLessThan(0.5);
});
