import { describe, expect, it } from '@jest/globals';
import type { RecoveryProgress } from '../api/resources.js';
import { kindsText, progressText } from './recovery-text.js';

const RECOVERY: RecoveryProgress = {
  id: 'rec_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  webhook_id: 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  status: 'running',
  kinds: ['failed', 'missed'],
  since_seq: null,
  since: '2026-06-01T00:00:00.000Z',
  until: null,
  looked_through_seq: 1_200,
  through_seq: 5_000,
  matched: 40,
  scheduled: 37,
  error: null,
  created_at: '2026-06-01T00:00:00.000Z',
  ended_at: null,
};

describe('the text of a recovery', () => {
  it('names what it sends', () => {
    expect(kindsText(['failed'])).toBe('Failed events');
    expect(kindsText(['failed', 'missed'])).toBe('Failed and missed events');
    expect(kindsText(['failed', 'missed', 'never_sent'])).toBe('Failed, missed and never sent events');
  });

  it.each<readonly [change: Partial<RecoveryProgress>, text: string]>([
    [{}, '37 sent again, looked through #1,200 of #5,000'],
    [{ status: 'done' }, '37 sent again'],
    [{ status: 'stopped' }, '37 sent again'],
    [{ status: 'failed', error: 'endpoint_inactive' }, '37 sent again, then the endpoint became inactive'],
    [{ status: 'failed', error: 'new' }, '37 sent again, then it failed'],
  ])('says how far it is: %j', (change, text) => {
    expect(progressText({ ...RECOVERY, ...change })).toBe(text);
  });
});
