import type { AfterAttempt, AttemptOutcome, RetrySchedule } from '../delivery/index.js';
import { decideAfterAttempt } from '../delivery/index.js';
import { memberSlices } from '../kernel/index.js';

/** Returns the body of an event's delivery. `data` is the text of the envelope, so numbers keep their spelling. */
export function webhookBody(envelope: Buffer, cursor: string): Buffer {
  const members = memberSlices(envelope.toString());
  const text = (name: string) => members.get(name) ?? 'null';
  const meta = `{"gapless/seq":${text('seq')},"gapless/widget_id":${text('widget_id')},"gapless/untrusted":true}`;
  return Buffer.from(
    `{"eventId":${text('id')},"name":${text('event')},"timestamp":${text('occurred_at')},` +
      `"data":${members.get('data') ?? '{}'},"cursor":${JSON.stringify(cursor)},"_meta":${meta}}`,
  );
}

/** The extension bounds retries: a few attempts within a quarter of an hour. */
const MAX_RETRIES = 4;
const MAX_RETRYING_MS = 15 * 60_000;

/** `Gone` and `Content Too Large` end one delivery, and say nothing of the others. */
const NOT_RETRIED: readonly number[] = [410, 413];

function boundedSchedule(schedule: RetrySchedule): RetrySchedule {
  let totalMs = 0;
  return schedule.slice(0, MAX_RETRIES).filter((delayMs) => (totalMs += delayMs) <= MAX_RETRYING_MS);
}

/** Decides what happens after an attempt for an MCP subscription. */
export function decideAfterCallback(attempt: number, outcome: AttemptOutcome, schedule: RetrySchedule): AfterAttempt {
  if (outcome.response !== null && NOT_RETRIED.includes(outcome.response.code)) return { kind: 'exhausted' };
  return decideAfterAttempt(attempt, outcome, boundedSchedule(schedule));
}
