import { describe, expect, it } from '@jest/globals';
import { judgeInstallation, type InstallationPlace, type InstallationRow } from './installation.js';

const RECORD = { id: '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001', partitions: 6, createdAt: '2026-03-02T09:00:00.000Z' };
const ROW: InstallationRow = { ...RECORD, kafkaClusterId: 'one', topicPrefix: 'gapless', announced: true };
const OTHER = { ...RECORD, id: '0f8fad5b-d9cb-469f-a165-70867728950e' };

function judge(place: Partial<InstallationPlace>) {
  return judgeInstallation({
    row: ROW,
    record: RECORD,
    kafkaClusterId: 'one',
    topicPrefix: 'gapless',
    partitions: 6,
    ...place,
  });
}

describe('judgeInstallation', () => {
  it('creates one where neither side knows any', () => {
    expect(judge({ row: null, record: null })).toEqual({ kind: 'create' });
  });

  it('accepts equal ones, on whatever cluster the topics are by now', () => {
    expect(judge({})).toEqual({ kind: 'same' });
    expect(judge({ kafkaClusterId: 'two' })).toEqual({ kind: 'same' });
  });

  it('goes on where a process ended between the row and the record', () => {
    const row = { ...ROW, announced: false };
    expect(judge({ row, record: null })).toEqual({ kind: 'announce', row });
    expect(judge({ row })).toEqual({ kind: 'announce', row });
    expect(judge({ row, record: null, kafkaClusterId: 'two' })).toMatchObject({ kind: 'refuse' });
    expect(judge({ row, record: OTHER })).toMatchObject({ kind: 'refuse' });
  });

  it.each([
    ['another installation of the brokers', { record: OTHER }, /belongs to installation 6f1f.*\n.*installation 0f8f/],
    ['brokers that have none', { record: null }, /have no installation under gapless\.\*/],
    ['a database that has none', { row: null }, /belongs to no installation/],
    ['another prefix', { topicPrefix: 'events' }, /Set TOPIC_PREFIX=gapless/],
    ['another number of partitions', { partitions: 12 }, /PARTITIONS is 12.*created with 6/],
    [
      'another number of partitions before the record',
      { row: { ...ROW, announced: false }, record: null, partitions: 12 },
      /PARTITIONS is 12/,
    ],
  ] as const)('refuses %s', (_, place, reason) => {
    expect(judge(place)).toEqual({ kind: 'refuse', reason: expect.stringMatching(reason) });
  });

  it('names the command that lets a restored database go with the brokers', () => {
    expect(judge({ row: null })).toMatchObject({ reason: expect.stringContaining('gapless repair adopt --apply') });
  });
});
