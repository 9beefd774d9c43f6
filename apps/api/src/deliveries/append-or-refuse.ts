import { GaplessError } from '#libs/domain';
import type { Appender, NewRecord } from '#libs/kafka-log';

/** @throws GaplessError `unavailable` when the brokers cannot be reached; the operation can be repeated */
export async function appendOrRefuse(appender: Appender, records: readonly NewRecord[]): Promise<void> {
  await orRefuse(appender.append(records));
}

/** The same for an answer of the brokers. */
export async function orRefuse<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new GaplessError('unavailable', 'The log cannot be reached; repeat the request.', { cause });
  }
}
